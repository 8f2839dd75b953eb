"""What counts as a right order: one, and like a perfect model's in all but its words."""

from typing import Any

import pytest

from worker.eval.run import ending
from worker.eval.score import Order, score


def an_order(**changed: Any) -> Order:
    steps = {"search_manual": "success", "query_shift": "not_found", "query_spare_parts": "success"}
    order: dict[str, Any] = {
        "line_name": "交互屏组装B线",
        "equipment": "交互屏贴合机B1",
        "fault_code": "E401",
        "severity": 700,
        "priority": 2,
        "causes": ["通讯线松动"],
        "safety": ["上锁挂牌"],
        "diagnosis": "通讯线松动",
        "actions": ["检查通讯线"],
        "steps": [{"step": step, "status": status} for step, status in steps.items()],
        "parts": [a_part("TP-MT8071")],
        "follow_ups": [
            {
                "id": 1,
                "kind": "missing",
                "step": "query_shift",
                "subject": "交互屏组装B线",
                "owner": "生产调度",
            }
        ],
    }
    return order | changed


def a_part(number: str, quantity: int = 0, matched_as: str = "触摸屏") -> dict[str, Any]:
    return {"number": number, "quantity": quantity, "location": "A-01-03", "matched_as": matched_as}


def with_status(step: str, status: str) -> list[dict[str, str]]:
    return [one | {"status": status} if one["step"] == step else one for one in an_order()["steps"]]


def test_the_same_order_in_other_words_is_right() -> None:
    found = score([an_order(diagnosis="Loose cable", actions=["Check it"])], an_order())
    assert (found.correct, found.steps_right, found.steps, found.wrong) == (True, 3, 3, ())


def test_more_parts_than_the_manual_suggests_are_not_wrong_nor_is_another_name_for_one() -> None:
    parts = [a_part("CM-485-02", 4), a_part("TP-MT8071", matched_as="HMI")]
    assert score([an_order(parts=parts)], an_order()).correct


@pytest.mark.parametrize(("orders", "wrong"), [([], "no order"), ([an_order(), an_order()], "2 orders")])
def test_no_order_and_two_orders_are_wrong_and_leave_no_step_right(orders: list[Order], wrong: str) -> None:
    found = score(orders, an_order())
    assert (found.correct, found.steps_right, found.steps, found.wrong) == (False, 0, 3, (wrong,))
    assert found.orders == len(orders)


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({"line_name": "交互屏组装A线"}, "line_name"),
        ({"fault_code": "E402"}, "fault_code"),
        ({"equipment": ""}, "equipment"),
        ({"priority": 1}, "priority"),
        ({"causes": []}, "causes"),
        ({"safety": []}, "safety"),
        ({"parts": []}, "parts"),
        ({"parts": [a_part("TP-MT8071", quantity=9)]}, "parts"),
        ({"follow_ups": []}, "follow_ups"),
        ({"follow_ups": an_order()["follow_ups"] * 2}, "follow_ups"),
        ({"diagnosis": " "}, "diagnosis or actions"),
        ({"actions": []}, "diagnosis or actions"),
    ],
)
def test_what_is_unlike_the_perfect_order_is_named(changed: dict[str, Any], wrong: str) -> None:
    found = score([an_order(**changed)], an_order())
    assert (found.correct, found.steps_right, found.wrong) == (False, 3, (wrong,))


def test_a_step_with_another_status_is_wrong_and_the_others_still_count() -> None:
    found = score([an_order(steps=with_status("query_shift", "unavailable"))], an_order())
    assert (found.correct, found.steps_right, found.wrong) == (False, 2, ("steps",))


def test_a_step_that_is_not_there_is_wrong() -> None:
    found = score([an_order(steps=an_order()["steps"][1:])], an_order())
    assert (found.correct, found.steps_right, found.steps, found.wrong) == (False, 2, 3, ("steps",))


@pytest.mark.parametrize(
    ("orders", "error", "kind"),
    [
        ([an_order()], None, "right order"),
        ([an_order(severity=1)], None, "wrong order"),
        ([an_order()] * 2, None, "2 orders"),
        ([an_order()], "GraphRecursionError", "right order, then recursion limit"),
        ([an_order()] * 2, "TimeoutError", "2 orders, then deadline"),
        ([], "GraphRecursionError", "recursion limit"),
        ([], "TimeoutError", "deadline"),
        ([], "NoOrderError", "no order"),
        ([], "JSONDecodeError", "JSONDecodeError"),
    ],
)
def test_an_ending_is_named_by_its_orders_and_by_what_ended_it(
    orders: list[Order], error: str | None, kind: str
) -> None:
    assert ending(score(orders, an_order()), error) == kind
