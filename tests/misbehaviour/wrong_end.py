"""The wrong end: an answer instead of the work, an order too early, twice, or only claimed."""

from itertools import permutations
from typing import Any

from tests.helpers.endpoint import Behaviour, Conversation, Message, good_calls, says
from tests.misbehaviour.ways import always, first, words

ORDER: tuple[str, dict[str, Any]] = (
    "generate_work_order",
    {"diagnosis": "通讯线松动", "actions": ["上锁挂牌", "检查通讯线"]},
)
_LOOK_UPS: list[tuple[str, dict[str, Any]]] = [
    ("search_manual", {}),
    ("query_shift", {}),
    ("query_spare_parts", {"part": "触摸屏"}),
]


def _good_but_the_end(*end: tuple[str, dict[str, Any]], content: str = "") -> Behaviour:
    """Every look-up as it should be, and then this, for ever."""

    def behaves(conversation: Conversation) -> Message:
        calls = good_calls(conversation)
        return says(content, *end) if calls[0][0] == "generate_work_order" else says("", *calls)

    return behaves


def _order_beside_each(conversation: Conversation) -> Message:
    """The order in every turn, beside the look-ups that it waits for."""
    calls = good_calls(conversation)
    return says("", *calls) if calls[0][0] == "generate_work_order" else says("", ORDER, *calls)


def _stops_after(turns: int) -> Behaviour:
    def behaves(conversation: Conversation) -> Message:
        return says("", *good_calls(conversation)) if conversation.turn < turns else says("查完了。")

    return behaves


def _wakes_when_reminded(conversation: Conversation) -> Message:
    """Says that it is done once, and does it all when it is reminded."""
    return says("已完成。") if conversation.turn == 0 else says("", *good_calls(conversation))


def _calls_on_after_the_order(conversation: Conversation) -> Message:
    """The order, and with it everything else once more."""
    calls = good_calls(conversation)
    return says("", *calls, *_LOOK_UPS, ORDER) if calls[0][0] == "generate_work_order" else says("", *calls)


BEHAVIOURS: dict[str, Behaviour] = {
    "an answer at once": words("触摸屏通讯中断，请检查通讯线。"),
    "an empty answer": words(""),
    "an answer of spaces": words(" \n\t "),
    "null for an answer": always(None),
    "an order claimed": words("工单 WO-20260804-0001 已生成，状态：已派工。"),
    "an order claimed as JSON": words('{"status": "success", "order_id": "WO-20260804-0001"}'),
    "an order claimed after the look-ups": _good_but_the_end(content="工单 WO-20260804-0009 已经生成。"),
    "a question to the user": words("请问需要我查询哪一天的排班？"),
    "a plan and no deed": words(
        "1. search_manual\n2. query_shift\n3. query_spare_parts\n4. generate_work_order"
    ),
    "thinking without end": words("<think>先查手册，再查排班" * 50),
    "the order first": always("", ORDER),
    "the order first, then good": first(always("", ORDER), lambda c: says("", *good_calls(c))),
    "the order beside each look-up": _order_beside_each,
    "the order twice in one turn": _good_but_the_end(ORDER, ORDER),
    "eight orders in one turn": _good_but_the_end(
        *(("generate_work_order", {"diagnosis": f"诊断{n}", "actions": [f"步骤{n}"]}) for n in range(8))
    ),
    "a blank order and a good one": _good_but_the_end(
        ("generate_work_order", {"diagnosis": " ", "actions": [" "]}), ORDER
    ),
    "an order without actions": _good_but_the_end(
        ("generate_work_order", {"diagnosis": "坏了", "actions": []})
    ),
    "an order without a diagnosis": _good_but_the_end(("generate_work_order", {"actions": ["修"]})),
    "an order and everything once more": _calls_on_after_the_order,
    "stops after one turn": _stops_after(1),
    "stops after two turns": _stops_after(2),
    "wakes when reminded": _wakes_when_reminded,
    **{
        "all four at once: " + " ".join(name.split("_")[1] for name, _arguments in calls): always("", *calls)
        for calls in list(permutations([*_LOOK_UPS, ORDER]))[::5]
    },
}

UNAIDED = frozenset(
    {
        "the order first, then good",
        "the order beside each look-up",
        "the order twice in one turn",
        "eight orders in one turn",
        "a blank order and a good one",
        "an order and everything once more",
        "wakes when reminded",
    }
)
