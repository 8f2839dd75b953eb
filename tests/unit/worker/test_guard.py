"""The guard: one question is asked once, and what has its final answer is answered from the ledger."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import tool_call

from db.models.order import RUNBOOK, StepName
from tests.helpers.contexts import a_context_without_sources, manual_of, part_of
from tools.context import AlarmContext
from tools.ledger import MAX_GIVEN, MAX_MODEL_PARTS
from tools.result import ToolResult
from worker.agent.guard import Guard
from worker.agent.repair import MAX_ACTIONS

MISSING = ToolResult.not_found("没有", "继续")
ORDER = StepName.GENERATE_WORK_ORDER


class Tools:
    """In the tools' place: answers as told, records as they do, and remembers what reached it."""

    def __init__(self, context: AlarmContext, **answers: ToolResult) -> None:
        self.context, self.answers = context, answers
        self.reached: list[tuple[str, dict[str, Any]]] = []

    async def __call__(self, request: ToolCallRequest) -> ToolMessage:
        name, arguments = request.tool_call["name"], request.tool_call["args"]
        self.reached.append((name, arguments))
        await asyncio.sleep(0)  # as a source does: let the turn's other calls begin
        result = self.answers.get(name, MISSING)
        if name != ORDER:
            question = self.context.ledger.question(StepName(name), arguments.get("part", ""))
            self.context.ledger.record(question, result)
        return ToolMessage(result.to_text(), artifact=result, tool_call_id=request.tool_call["id"])


def a_run(planner: str = "a-model") -> AlarmContext:
    context = a_context_without_sources()
    context.run.planner = planner
    return context


async def call(tools: Tools, name: str, arguments: dict[str, Any], exists: bool = True) -> ToolResult:
    """One tool call as the agent makes it; what the model is answered."""
    request = ToolCallRequest(
        tool_call=tool_call(name=name, args=arguments, id="call_0"),
        tool=cast(Any, object()) if exists else None,
        state={},
        runtime=cast(Any, SimpleNamespace(context=tools.context)),
    )
    message = await Guard().awrap_tool_call(request, tools)
    assert isinstance(message, ToolMessage)
    assert message.tool_call_id == "call_0"
    assert json.loads(str(message.content))["status"] == message.artifact.status
    return cast(ToolResult, message.artifact)


def test_a_closed_question_never_reaches_its_source_again() -> None:
    tools = Tools(a_run())

    async def walk_the_calendar() -> list[ToolResult]:
        return [await call(tools, "query_shift", {"date": f"2026-08-{day:02}"}) for day in range(1, 21)]

    first, *later = asyncio.run(walk_the_calendar())
    [question] = tools.context.ledger.asked_in(StepName.QUERY_SHIFT)
    assert tools.reached == [("query_shift", {})]
    assert (question.calls, question.suppressed) == (1, 19)
    assert len(question.given) == MAX_GIVEN
    assert question.given[0] == {"date": "2026-08-01"}
    assert {result.status for result in (first, *later)} == {"not_found"}
    assert all(first.message in result.message and result.message != first.message for result in later)


def test_what_is_left_to_do_is_named_with_the_answer() -> None:
    tools = Tools(a_run(), search_manual=manual_of("触摸屏"), query_spare_parts=part_of("SP-1", "触摸屏"))

    async def run() -> list[str]:
        said = []
        for name, arguments in [
            ("query_shift", {}), ("query_shift", {}), ("search_manual", {}), ("query_shift", {}),
            ("query_spare_parts", {"part": "触摸屏"}), ("query_shift", {}),
        ]:  # fmt: skip
            said.append((await call(tools, name, arguments)).suggestion)
        return said

    _, before_manual, _, before_part, _, at_the_end = asyncio.run(run())
    assert "search_manual" in before_manual
    assert "query_spare_parts (触摸屏)" in before_part
    assert "generate_work_order" in at_the_end


@pytest.mark.parametrize("planner", ["a-model", RUNBOOK])
def test_simultaneous_calls_for_one_question_ask_once_and_all_get_the_answer(planner: str) -> None:
    tools = Tools(a_run(planner), query_spare_parts=part_of("SP-1", "触摸屏"))

    async def at_once() -> list[ToolResult]:
        spellings = ["触摸屏", " 触摸屏", "触 摸 屏", "触摸屏\u200b"] * 5
        return await asyncio.gather(*(call(tools, "query_spare_parts", {"part": name}) for name in spellings))

    assert {result.status for result in asyncio.run(at_once())} == {"success"}
    assert len(tools.reached) == 1
    [question] = tools.context.ledger.asked_in(StepName.QUERY_SPARE_PARTS)
    assert (question.calls, question.suppressed) == (1, 19)


def test_different_questions_do_not_wait_for_one_another() -> None:
    context = a_run()
    together = asyncio.Barrier(3)

    class Waiting(Tools):
        async def __call__(self, request: ToolCallRequest) -> ToolMessage:
            async with asyncio.timeout(5):
                await together.wait()
            return await super().__call__(request)

    async def at_once() -> None:
        tools = Waiting(context)
        names = [("search_manual", {}), ("query_shift", {}), ("query_spare_parts", {"part": "触摸屏"})]
        await asyncio.gather(*(call(tools, name, arguments) for name, arguments in names))

    asyncio.run(at_once())


def test_a_malformed_question_stays_open_and_is_asked_again() -> None:
    tools = Tools(a_run(), query_spare_parts=ToolResult.invalid("不对", "改正"))

    async def twice() -> None:
        await call(tools, "query_spare_parts", {"part": "触摸屏"})
        await call(tools, "query_spare_parts", {"part": "触摸屏"})

    asyncio.run(twice())
    assert len(tools.reached) == 2


@pytest.mark.parametrize("failure", [RuntimeError("x"), asyncio.CancelledError()])
def test_a_question_whose_asking_failed_can_be_asked_again(failure: BaseException) -> None:
    context = a_run()

    class FailingOnce(Tools):
        async def __call__(self, request: ToolCallRequest) -> ToolMessage:
            if not self.reached:
                self.reached.append(("query_shift", {}))
                raise failure
            return await super().__call__(request)

    tools = FailingOnce(context)

    async def twice() -> ToolResult:
        with pytest.raises(type(failure)):
            await call(tools, "query_shift", {})
        async with asyncio.timeout(5):
            return await call(tools, "query_shift", {})

    assert asyncio.run(twice()).status == "not_found"


@pytest.mark.parametrize("exists", [True, False])
def test_a_tool_that_does_not_exist_is_answered_with_those_that_do(exists: bool) -> None:
    tools = Tools(a_run())
    result = asyncio.run(call(tools, "order_pizza" if exists else "unnamed", {"x": 1}, exists))
    assert result.status == "invalid"
    assert tools.reached == []
    assert all(step in result.suggestion for step in StepName)
    assert tools.context.ledger.news == 0


def test_nothing_of_a_models_arguments_but_a_part_reaches_a_look_up() -> None:
    tools = Tools(a_run())

    async def run() -> None:
        await call(tools, "search_manual", {"fault_code": "E999", "line": "B线"})
        await call(tools, "query_shift", {"line": "交互屏组装B线", "date": "2020-01-01"})
        await call(tools, "query_spare_parts", {"part": " 触摸屏 ", "line": "B线"})

    asyncio.run(run())
    assert tools.reached == [
        ("search_manual", {}),
        ("query_shift", {}),
        ("query_spare_parts", {"part": " 触摸屏 "}),
    ]


def test_what_the_runbook_asks_is_not_taken_for_a_models_words() -> None:
    tools = Tools(a_run(RUNBOOK))
    asyncio.run(call(tools, "query_spare_parts", {"part": "触摸屏"}))
    [question] = tools.context.ledger.asked_in(StepName.QUERY_SPARE_PARTS)
    assert question.given == []


def test_a_models_actions_are_bounded_and_the_manuals_are_not_cut() -> None:
    """Three candidates with a dozen steps each: none of them may fall off the runbook's order."""
    actions = [f"第 {n} 步" for n in range(MAX_ACTIONS + 10)]
    for planner, kept in (("a-model", MAX_ACTIONS), (RUNBOOK, MAX_ACTIONS + 10)):
        tools = Tools(a_run(planner))
        asyncio.run(call(tools, ORDER, {"diagnosis": "诊断", "actions": actions}))
        [(_name, arguments)] = tools.reached
        assert arguments["actions"] == actions[:kept]


def test_a_part_without_a_name_is_the_tools_to_refuse_and_no_question() -> None:
    tools = Tools(a_run())
    asyncio.run(call(tools, "query_spare_parts", {"part": "  "}))
    assert tools.reached == [("query_spare_parts", {"part": "  "})]


def test_a_hundred_invented_parts_at_once_stay_within_the_limit() -> None:
    """As the tool itself decides it; the guard keeps no question that was not allowed."""
    context = a_run()

    class Limited(Tools):
        async def __call__(self, request: ToolCallRequest) -> ToolMessage:
            if not context.ledger.may_ask_part(request.tool_call["args"]["part"]):
                refused = ToolResult.invalid("太多", "继续")
                return ToolMessage(refused.to_text(), artifact=refused, tool_call_id="call_0")
            return await super().__call__(request)

    tools = Limited(context, search_manual=manual_of())

    async def at_once() -> None:
        await call(tools, "query_spare_parts", {"part": "x"})
        await asyncio.gather(*(call(tools, "query_spare_parts", {"part": f"发明{n}"}) for n in range(100)))

    asyncio.run(at_once())
    assert len(tools.reached) == MAX_MODEL_PARTS
    assert len(context.ledger.asked_in(StepName.QUERY_SPARE_PARTS)) == MAX_MODEL_PARTS
