"""The scenarios stand for what a plant meets: each state of its data, each language, each distraction."""

from collections import Counter
from datetime import UTC, datetime
from typing import get_args

from db.plant.loader import SAMPLE
from db.settings import Language
from producers.events import AlarmEvent
from worker.eval.scenarios import SCENARIOS, Distractor, Missing

NOW = datetime(2026, 8, 4, 2, 30, tzinfo=UTC)


def test_there_are_24_each_with_a_name_of_its_own() -> None:
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS) == 24


def test_every_state_language_and_distraction_is_met_and_the_languages_equally_often() -> None:
    assert {scenario.missing for scenario in SCENARIOS} == set(get_args(Missing))
    assert {scenario.distractor for scenario in SCENARIOS} == set(get_args(Distractor))
    languages = Counter(scenario.language for scenario in SCENARIOS)
    assert languages == dict.fromkeys(get_args(Language), 12)


def test_each_alarm_is_one_that_a_producer_could_send() -> None:
    for scenario in SCENARIOS:
        event = scenario.event(NOW)
        assert AlarmEvent.parse(event.to_json().encode()) == event
        assert event.occurred_at == NOW


def test_each_distraction_of_words_stands_in_the_message() -> None:
    for scenario in SCENARIOS:
        added = scenario.event(NOW).message.removeprefix(scenario.fault.message)
        assert bool(added) == (scenario.distractor not in ("none", "shared code"))


def test_the_lines_and_the_equipment_are_the_sample_plants() -> None:
    known = [line.split(",")[:2] for line in (SAMPLE / "equipment.csv").read_text("utf-8").splitlines()[1:]]
    for fault in {scenario.fault for scenario in SCENARIOS}:
        assert fault.line_name in {line for line, _name in known}
        assert [fault.line_name, fault.equipment] in known or fault.equipment == ""


def test_a_shared_code_comes_without_its_equipment_and_only_that() -> None:
    for scenario in SCENARIOS:
        assert (scenario.fault.equipment == "") == (scenario.distractor == "shared code")
