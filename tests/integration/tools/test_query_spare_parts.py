"""What the tool says of a part, as the store has it."""

import asyncio

import pytest

from db.models import SparePart
from db.models.order import StepName
from db.session import Database
from db.settings import Language
from tests.helpers.contexts import a_context
from tools import query_spare_parts
from tools.look_up import look_up

FACTS = {"aliases": [], "quantity": 3, "unit": "块", "location": "A-01", "minimum": 2}


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("zh", "；触摸屏 还有编号 TP-2、TP-3，需现场确认用哪一个"),
        ("en", "; 触摸屏 is also TP-2, TP-3, to be confirmed on site"),
    ],
)
@pytest.mark.parametrize("wanted", ["触摸屏", "触 摸 屏"])
def test_parts_of_one_name_are_all_named(
    database: Database, wanted: str, language: Language, said: str
) -> None:
    with database.writing() as session:
        for number in ("TP-3", "TP-1", "TP-2"):
            session.add(SparePart(number=number, name="触摸屏", **FACTS))
    context = a_context(database, language=language)
    question = context.ledger.question(StepName.QUERY_SPARE_PARTS, wanted)
    answer = look_up(context, question, lambda session: query_spare_parts.answer(context, session, wanted))
    message = asyncio.run(answer).message
    assert "TP-1" in message
    assert message.endswith(said)
