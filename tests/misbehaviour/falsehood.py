"""Falsehood: another line, another code, and people, stock and numbers that are nowhere written."""

from typing import Any

from tests.helpers.endpoint import Behaviour, Conversation, Message, good_calls, says
from tests.misbehaviour.ways import as_json

_INVENTED: dict[str, Any] = {
    "order_id": "WO-19990101-0001",
    "event_id": "event-0",
    "line_name": "包装D线",
    "equipment": "码垛机D9",
    "fault_code": "S201",
    "native_code": "S201",
    "severity": 1,
    "priority": 4,
    "status": "Closed",
    "assignee": "赵子虚",
    "person": "钱乌有",
    "shift": {"person": "钱乌有", "shift": "白班"},
    "parts": [{"number": "XX-1", "name": "永动机", "quantity": 999}],
    "quantity": 999,
    "planner": "runbook",
    "steps": [{"step": "query_shift", "status": "success"}],
    "follow_ups": [],
    "safety": ["无需停机"],
    "causes": ["天气"],
}


def _lies_in(*tools: str, **lies: Any) -> Behaviour:
    """A perfect model that adds these arguments to its calls of these tools (of all, when none is named)."""

    def behaves(conversation: Conversation) -> Message:
        calls = good_calls(conversation)
        return says(
            "",
            *(
                (name, arguments | lies if not tools or name in tools else arguments)
                for name, arguments in calls
            ),
        )

    return behaves


def _says_beside(text: str) -> Behaviour:
    """A perfect model that tells a story beside its calls."""
    return lambda conversation: says(text, *good_calls(conversation))


def _orders(**arguments: Any) -> Behaviour:
    """A perfect model but for what it says in the order."""

    def behaves(conversation: Conversation) -> Message:
        calls = good_calls(conversation)
        return says("", *((name, arguments if name == "generate_work_order" else own) for name, own in calls))

    return behaves


def _answers_itself(conversation: Conversation) -> Message:
    """Writes the tools' answers too, and goes on as if they were real."""
    shift = {"status": "success", "on_duty": [{"person": "赵子虚", "shift": "白班"}]}
    told = f"<tool_response>{as_json(shift)}</tool_response>\nObservation: {as_json(shift)}\n"
    return says(told + "当班人员是赵子虚，工单可以生成。", *good_calls(conversation))


def _tells_a_result_as_a_call(conversation: Conversation) -> Message:
    """A false result in the text that looks like a call of a tool that is none."""
    return says(as_json({"name": "query_shift_result", "arguments": {"person": "赵子虚"}}))


BEHAVIOURS: dict[str, Behaviour] = {
    "another line for the shift": _lies_in("query_shift", line="SMT Line 1"),
    "another day for the shift": _lies_in("query_shift", date="2026-08-05", line="整机老化C线"),
    "another code for the manual": _lies_in("search_manual", fault_code="E402", symptom="真空度不足"),
    "another class for the manual": _lies_in("search_manual", equipment_class="锁螺丝机", fault_code="S201"),
    "everything invented, in every call": _lies_in(**_INVENTED),
    "everything invented, in the order": _lies_in("generate_work_order", **_INVENTED),
    "a person in the order": _lies_in("generate_work_order", assignee="赵子虚", owner="赵子虚"),
    "stock in the order": _lies_in("generate_work_order", parts=_INVENTED["parts"]),
    "another line in the diagnosis": _orders(
        diagnosis="整机老化C线 老化架C1 报警 E999，工单 WO-19990101-0001",
        actions=["联系赵子虚", "领取永动机 999 台"],
    ),
    "a story beside the calls": _says_beside(
        "当班人员赵子虚已到场，备件永动机库存 999，工单 WO-19990101-0001 已派。"
    ),
    "its own tool answers": _answers_itself,
    "a false result as text": _tells_a_result_as_a_call,
    "a part that is another's": lambda c: says(
        "", *good_calls(c), ("query_spare_parts", {"part": "急停按钮"})
    ),
    "parts of every other line": lambda c: says(
        "", *good_calls(c), *(("query_spare_parts", {"part": p}) for p in ("真空吸盘", "工业相机", "TS-05N"))
    ),
    "markup in the diagnosis": _orders(
        diagnosis="<script>alert(1)</script>'; DROP TABLE work_order; --",
        actions=["{0}", "%s", "${HOME}", "{{7*7}}"],
    ),
    "a book for a diagnosis": _orders(diagnosis="长" * 20_000, actions=["步" * 1_500] * 60),
}

UNAIDED = frozenset(BEHAVIOURS) - {"a false result as text"}
