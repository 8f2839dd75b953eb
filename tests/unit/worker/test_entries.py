"""What is made of a stream entry's fields: alarms, probes, what is set aside, and why."""

import json

import pytest

from db.models.alarm import RejectReason
from worker.line.entries import Entry, sort_out, tokens_of

EVENT = json.dumps(
    {
        "event_id": "e-1",
        "source": "plc-7",
        "line_name": "交互屏组装A线",
        "fault_code": "E401",
        "occurred_at": "2026-08-04T10:30:00+08:00",
    }
).encode()
TOKEN = "0123456789abcdef" * 2


def an_entry(*fields: tuple[str, bytes]) -> list[Entry]:
    return [Entry("1-0", [(name.encode(), value) for name, value in fields])]


def test_a_probe_is_neither_an_alarm_nor_rejected() -> None:
    entries = an_entry(("probe", TOKEN.encode()))
    assert sort_out(entries) == ([], [])
    assert tokens_of(entries) == [TOKEN]


def test_an_entry_with_an_event_and_a_probe_is_both() -> None:
    entries = an_entry(("event", EVENT), ("probe", TOKEN.encode()), ("trace", b"00-ab"))
    readable, unreadable = sort_out(entries)
    assert [(raw, alarm.event_id) for _, raw, alarm in readable] == [(EVENT, "e-1")]
    assert unreadable == []
    assert tokens_of(entries) == [TOKEN]


@pytest.mark.parametrize(
    "token",
    [b"", b"1", TOKEN.encode()[1:], TOKEN.encode() + b"\n", TOKEN.upper().encode(), b"\xff" * 32, b"x" * 99],
)
def test_a_probe_without_a_token_is_rejected_and_asks_nothing(token: bytes) -> None:
    entries = an_entry(("probe", token))
    assert tokens_of(entries) == []
    [rejected] = sort_out(entries)[1]
    assert (rejected.entry_id, rejected.raw, rejected.reason) == ("1-0", token, RejectReason.INVALID)
    assert "32 hexadecimal digits" in rejected.detail


def test_what_lay_on_celerys_list_is_rejected_as_that_even_where_it_reads_as_an_event() -> None:
    readable, unreadable = sort_out(an_entry(("not_a_task", EVENT), ("not_a_task", b"\xff")))
    assert readable == []
    assert [(one.raw, one.reason) for one in unreadable] == [
        (EVENT, RejectReason.NOT_A_TASK),
        (b"\xff", RejectReason.NOT_A_TASK),
    ]


def test_an_entry_of_unknown_fields_is_rejected_once_with_all_of_them() -> None:
    readable, unreadable = sort_out(an_entry(("evnet", EVENT), ("Probe", TOKEN.encode())))
    assert readable == []
    [rejected] = unreadable
    assert rejected.reason == RejectReason.NO_EVENT_FIELD
    assert rejected.raw == b"evnet=" + EVENT + b"\nProbe=" + TOKEN.encode()


def test_a_deleted_entry_is_nothing() -> None:
    assert sort_out([Entry("1-0", None)]) == ([], [])
    assert tokens_of([Entry("1-0", None)]) == []
