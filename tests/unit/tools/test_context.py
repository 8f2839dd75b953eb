"""The facts of one attempt: what the plant's equipment list adds to the alarm."""

import pytest

from db.models.plant import Equipment
from tests.helpers.contexts import LINE, a_context_without_sources


def equipment(name: str, equipment_class: str, leader: str) -> Equipment:
    return Equipment(line_name=LINE, name=name, equipment_class=equipment_class, leader=leader)


KNOWN = [equipment("螺丝机B2", "锁螺丝机", "王班长"), equipment("交互屏贴合机A1", "贴合机", "刘班长")]


@pytest.mark.parametrize("name", ["交互屏贴合机A1", "交互屏贴合机 a1", "交互屏贴合机Ａ１"])
def test_equipment_is_known_however_its_name_is_written(name: str) -> None:
    context = a_context_without_sources(known=KNOWN, equipment=name, equipment_class="")
    assert (context.equipment_class, context.leader) == ("贴合机", "刘班长")


def test_a_name_that_stands_in_the_list_is_taken_for_itself() -> None:
    known = [equipment("A-1", "贴合机", "刘班长"), equipment("A1", "锁螺丝机", "王班长")]
    context = a_context_without_sources(known=known, equipment="A1", equipment_class="")
    assert (context.equipment_class, context.leader) == ("锁螺丝机", "王班长")


def test_equipment_that_is_not_in_the_list_has_no_class_and_the_lines_first_leader() -> None:
    context = a_context_without_sources(known=KNOWN, equipment="新设备", equipment_class="")
    assert (context.equipment_class, context.leader) == ("", "王班长")
    assert context.ledger.parts_fallback == "新设备"


def test_the_class_that_was_sent_counts_more_than_the_lists() -> None:
    context = a_context_without_sources(known=KNOWN, equipment="交互屏贴合机A1", equipment_class="点胶机")
    assert context.equipment_class == "点胶机"


def test_without_the_list_the_facts_are_only_fewer_until_it_is_learnt() -> None:
    context = a_context_without_sources(equipment="", equipment_class="")
    assert (context.equipment_class, context.leader) == ("", None)
    assert context.ledger.parts_fallback == "E401"
    context.learn(KNOWN[1:])
    assert (context.equipment_class, context.leader) == ("", "刘班长")
