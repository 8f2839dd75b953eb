"""The handover's own sums and words; what it does to a run is tested on the whole agent."""

import logging

import pytest
from langchain_core.messages import AIMessage

from db.models.order import RUNBOOK
from tests.helpers.contexts import a_context_without_sources
from worker.agent.handover import count_tokens, hand_over
from worker.settings import AgentSettings

LARGEST_INTEGER = 2**31 - 1  # of a column


def used(tokens_in: int, tokens_out: int) -> AIMessage:
    total = tokens_in + tokens_out
    return AIMessage(
        "", usage_metadata={"input_tokens": tokens_in, "output_tokens": tokens_out, "total_tokens": total}
    )


def test_tokens_are_summed_and_a_message_without_usage_counts_none() -> None:
    context = a_context_without_sources()
    for message in (used(100, 10), AIMessage(""), used(50, 5)):
        count_tokens(context, message)
    assert (context.run.input_tokens, context.run.output_tokens) == (150, 15)


@pytest.mark.parametrize("tokens", [10**30, -5, 2**31])
def test_nonsense_of_an_endpoint_cannot_make_an_order_that_no_database_keeps(tokens: int) -> None:
    context = a_context_without_sources()
    most_calls = AgentSettings.model_fields["agent_max_model_calls"].metadata[1].le
    for _ in range(most_calls):
        count_tokens(context, used(tokens, tokens))
    assert 0 <= context.run.input_tokens <= LARGEST_INTEGER
    assert 0 <= context.run.output_tokens <= LARGEST_INTEGER


def test_a_handover_is_logged_with_who_why_and_which_alarm(caplog: pytest.LogCaptureFixture) -> None:
    context = a_context_without_sources()
    context.run.planner, context.run.model_calls = "a-model", 3
    with caplog.at_level(logging.WARNING):
        hand_over(context, "no_new_facts")
    assert (context.run.planner, context.run.handover_reason) == (RUNBOOK, "no_new_facts")
    for word in ("alarm 1", "E401", "a-model", "3 model calls", "no_new_facts"):
        assert word in caplog.text


def test_an_alarm_cannot_write_log_lines_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    context = a_context_without_sources(line_name="线\n2026 ERROR 伪造\x1b[2J", fault_code="E\u202e401")
    hand_over(context, "no_new_facts")
    assert len(caplog.messages[0].splitlines()) == 1
    assert "\x1b" not in caplog.messages[0]
    assert "\u202e" not in caplog.messages[0]
