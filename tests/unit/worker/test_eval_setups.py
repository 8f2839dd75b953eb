"""The plainest set-up's answers: all that a tool found, in prose, with no status and no advice."""

import json

import pytest
from langchain_core.tools import BaseTool

from db.models.order import StepName
from db.settings import Language
from tests.helpers.contexts import manual_of, part_of
from tests.helpers.eval_models import as_read
from tools.catalogue import text
from tools.result import ManualFacts, ToolResult
from worker.agent.graph import TOOLS
from worker.agent.prompts import procedure, system_prompt
from worker.cli import SetupKey
from worker.eval.setups import SETUPS, in_prose, prose

STATUSES = ("success", "not_found", "unavailable", "invalid")


def test_the_command_offers_each_set_up_and_no_other() -> None:
    assert [setup.key for setup in SETUPS] == list(SetupKey)


def test_only_the_last_set_up_is_the_real_agent() -> None:
    assert [setup.plain for setup in SETUPS] == [True, True, True, False]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_manual_entry_is_told_whole_and_a_part_in_its_sentence(language: Language) -> None:
    result = manual_of("触摸屏", "通讯线")
    assert isinstance(result.facts, ManualFacts)
    (entry,) = result.facts.entries
    told = prose(result, language)
    for words in (result.message, entry.title, *entry.causes, *entry.safety, *entry.steps, *entry.parts):
        assert words in told
    assert result.suggestion not in told
    assert prose(part_of("TP-1", "触摸屏"), language) == part_of("TP-1", "触摸屏").message


def test_nothing_that_was_not_found_has_advice_or_a_status_in_it() -> None:
    told = prose(ToolResult.not_found("未找到排班数据", "继续下一步"), "zh")
    assert told == "未找到排班数据"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: str(tool.name))
def test_a_tool_that_answers_in_prose_is_offered_in_the_same_way(tool: BaseTool) -> None:
    told = in_prose(tool)
    assert (told.name, told.description, told.args) == (tool.name, tool.description, tool.args)
    assert (tool.response_format, told.response_format) == ("content_and_artifact", "content")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_prompt_of_the_first_two_speaks_of_every_tool_and_of_no_status(language: Language) -> None:
    told = procedure(language)
    assert all(step in told for step in StepName)
    assert not any(status in told for status in STATUSES)
    assert all(status in system_prompt(language) for status in STATUSES)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_scripted_models_read_prose_as_it_was_meant(language: Language) -> None:
    manual = json.loads(as_read(prose(manual_of("触摸屏", "通讯线"), language)))
    assert (manual["status"], manual["entries"]) == ("success", [{"parts": ["触摸屏", "通讯线"]}])
    said = {
        "not_found": text(language, "shift.not_found", line="A", moment="10:30"),
        "unavailable": text(language, "unavailable", source="x", subject="A"),
        "invalid": text(language, "order.open", steps="query_shift"),
        "success": text(language, "order.made", order_id="WO-1"),
    }
    for status, sentence in said.items():
        assert json.loads(as_read(sentence))["status"] == status
