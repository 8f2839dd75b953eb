"""Four ways to put an agent together on one model, each with a layer more than the one before."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool, StructuredTool
from langchain_openai import ChatOpenAI
from openai import DefaultAsyncHttpxClient
from pydantic import SecretStr

from db.settings import Language
from tools.catalogue import listed
from tools.context import AlarmContext
from tools.result import ManualFacts, ManualItem, ToolResult
from worker.agent.endpoint import Address, bounded
from worker.agent.graph import TOOLS, Agent, build_agent
from worker.agent.models import chat_model
from worker.agent.prompts import procedure, system_prompt
from worker.settings import AgentSettings

MAX_ANSWER_BYTES = 20_000_000
"""Of the plain ones, so that an answer without end does not fill the memory."""


@dataclass(frozen=True)
class Setup:
    """A plain one is LangChain's agent as it comes, with the very same tools and nothing around them."""

    key: str  # on the command line
    label: str
    model: Callable[[AgentSettings], BaseChatModel]
    agent: Callable[[BaseChatModel, AgentSettings, Language], Agent]
    plain: bool = True


def plain_chat(settings: AgentSettings) -> ChatOpenAI:
    """The library's client as it comes, its own retries with it."""
    assert settings.llm_model is not None
    address = Address.of(settings.openai_base_url)
    return ChatOpenAI(
        model=settings.llm_model,
        base_url=address.url,
        api_key=settings.openai_api_key or SecretStr("none"),
        timeout=settings.llm_timeout_seconds,
        http_async_client=DefaultAsyncHttpxClient(
            timeout=settings.llm_timeout_seconds,
            params=address.query,
            auth=address.login,
            event_hooks={"response": [bounded(MAX_ANSWER_BYTES)]},
        ),
        temperature=0,
        use_responses_api=False,
    )


def _with_text(model: BaseChatModel, _settings: AgentSettings, language: Language) -> Agent:
    return _plain(model, [in_prose(tool) for tool in TOOLS], procedure(language))


def _with_status(model: BaseChatModel, _settings: AgentSettings, language: Language) -> Agent:
    return _plain(model, TOOLS, procedure(language))


def _with_rules(model: BaseChatModel, _settings: AgentSettings, language: Language) -> Agent:
    return _plain(model, TOOLS, system_prompt(language))


def _plain(model: BaseChatModel, tools: list[BaseTool], prompt: str) -> Agent:
    return create_agent(model, tools=tools, system_prompt=prompt, context_schema=AlarmContext)


SETUPS: tuple[Setup, ...] = (
    Setup("text", "plain text results", plain_chat, _with_text),
    Setup("status", "structured status", plain_chat, _with_status),
    Setup("prompt", "status + prompt rule", plain_chat, _with_rules),
    Setup("layers", "all four layers", chat_model, build_agent, plain=False),
)
RUNBOOK = Setup("runbook", "the runbook", chat_model, build_agent, plain=False)
"""What no model is needed for, and a perfect one would do as well."""


def in_prose(tool: BaseTool) -> BaseTool:
    """The same tool, its answer as a sentence that a person would have written."""
    assert isinstance(tool, StructuredTool)
    assert tool.coroutine is not None
    ask = tool.coroutine

    @functools.wraps(ask)
    async def said(**arguments: Any) -> str:
        _json, result = await ask(**arguments)
        return prose(result, arguments["runtime"].context.language)

    return tool.model_copy(update={"coroutine": said, "response_format": "content"})


_LABELS: dict[Language, tuple[str, str, str, str]] = {
    "zh": ("原因", "安全", "步骤", "备件"),
    "en": ("Causes", "Safety", "Steps", "Parts"),
}


def prose(result: ToolResult, language: Language) -> str:
    """What a tool found, without a status and without advice. All but the manual says it in its message."""
    entries = result.facts.entries if isinstance(result.facts, ManualFacts) else []
    return "\n".join([result.message, *(line for entry in entries for line in _entry(entry, language))])


def _entry(entry: ManualItem, language: Language) -> list[str]:
    lists = (entry.causes, entry.safety, entry.steps, entry.parts)
    lines = [
        f"{label}: {listed(language, items)}"
        for label, items in zip(_LABELS[language], lists, strict=True)
        if items
    ]
    return [f"{entry.title} ({entry.equipment_class})", *lines]
