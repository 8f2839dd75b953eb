"""Tool calls as a model wrote them, and what becomes of them."""

from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import ToolCall, invalid_tool_call, tool_call

from db.models.order import StepName
from worker.agent.repair import arguments_for, repaired


def unread(arguments: str | None, name: str | None = "query_spare_parts") -> AIMessage:
    """A call as the client hands it over when it cannot parse the arguments."""
    call = invalid_tool_call(name=name, args=arguments, id="call_0", error="not JSON")
    return AIMessage("", invalid_tool_calls=[call])


def native(name: str, arguments: dict[str, Any]) -> ToolCall:
    """A well-formed call, whose id repeats as local servers' do."""
    return tool_call(name=name, args=arguments, id="call_0")


def meant(message: AIMessage) -> list[tuple[str, dict[str, Any]]]:
    """The tools that are called in the end, with the arguments they get."""
    return [
        (call["name"], arguments_for(StepName(call["name"]), call["args"]))
        for call in repaired(message).tool_calls
    ]
