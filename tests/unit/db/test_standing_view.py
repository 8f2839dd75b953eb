"""Repeats, clears and floods in terminals of several widths."""

from datetime import timedelta
from typing import Any

import pytest
from rich.cells import cell_len

from db.views.order import order_lines
from db.views.standing import part_line
from db.views.tables import orders_table
from tests.unit.db.test_tables import NOW, SHANGHAI, WIDTHS, a_row, an_order, printed

# NOW is 02:30 on 5 August in Shanghai.
HOSTILE = "A\x1b[2J\u202e\n线"


def a_flood(**overrides: Any) -> dict[str, Any]:
    first_out = {
        "event_id": "evt-1",
        "source": "边缘盒",
        "equipment": "供钉直轨",
        "fault_code": "E101",
        "order_id": "WO-20260805-0001",
    }
    facts = {"line_name": "整机老化测试B线", "first_out": first_out, "started_at": NOW, "ended_at": None}
    return facts | overrides


def a_flooded_order(rows: int = 40, **overrides: Any) -> dict[str, Any]:
    alarms = [
        a_row(
            equipment=f"老化房温控系统{number}号机组",
            fault_code=f"E{number:03}",
            occurrences=number,
            last_at=NOW + timedelta(minutes=number),
            fingerprint=f"{number:064x}",
        )
        for number in range(1, rows + 1)
    ]
    return an_order(flood=a_flood(), alarms=alarms, occurrences=820, **overrides)


def shown(order: dict[str, Any], width: int = 120) -> str:
    """The order on one line, so that no test depends on where a line is broken."""
    return " ".join(" ".join(printed(order_lines(order, SHANGHAI, width), width)).split())


def listed(*orders: dict[str, Any], width: int = 120) -> list[str]:
    return printed(orders_table(orders, SHANGHAI, width), width)


def test_an_order_that_came_once_says_nothing_of_repeats() -> None:
    said = shown(an_order())
    assert not any(word in said for word in ("times", "Repeats", "Cleared", "Again", "Flood", "Alarms"))
    assert "Fingerprint 0123456789ab" in said


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        (0, 69, "12 times, 02:30 to 03:39"),
        (-30, 0, "12 times, 02:00 to 02:30"),
        (0, 24 * 60, "12 times, 08-05 02:30 to 08-06 02:30"),
        (-180, 0, "12 times, 08-04 23:30 to 08-05 02:30"),
        (-180, -170, "12 times, 08-04 23:30 to 08-04 23:40"),
        (0, 365 * 24 * 60, "12 times, 2026-08-05 02:30 to 2027-08-05 02:30"),
    ],
)
def test_repeats_are_told_with_their_times_and_with_the_days_where_they_are_not_one(
    first: int, last: int, said: str
) -> None:
    times = {"first_at": NOW + timedelta(minutes=first), "last_at": NOW + timedelta(minutes=last)}
    assert f"Repeats {said}" in shown(an_order(occurrences=12, **times))


@pytest.mark.parametrize("width", range(80, 141))
def test_no_fact_of_an_order_is_clipped_at_any_width(width: int) -> None:
    order = an_order(occurrences=3, last_at=NOW.replace(year=2030), repeat_of="WO-20260804-0003")

    def words(wide: int) -> list[str]:
        """Of the facts, which end where the first section begins."""
        facts, _ = "\n".join(printed(order_lines(order, SHANGHAI, wide), wide)).split("\n\nDiagnosis")
        return sorted(facts.split())

    assert words(width) == words(300)
    assert {"Asia/Shanghai", "2030-08-05"} <= set(words(width))


def test_a_refire_names_the_order_before_it() -> None:
    assert "Again after WO-20260804-0003" in shown(an_order(repeat_of="WO-20260804-0003"))


def test_what_is_cleared_says_when_and_what_is_cleared_in_part_says_how_much() -> None:
    gone = a_row(cleared_at=NOW + timedelta(minutes=5))
    assert "Cleared 2026-08-05 02:35:00" in shown(an_order(cleared_at=gone["cleared_at"], alarms=[gone]))
    assert "Cleared 1 of 3 alarms" in shown(an_order(alarms=[a_row(), gone, a_row()]))


def test_a_flood_names_its_first_out_alarm_and_has_a_row_for_each_of_its_own() -> None:
    said = shown(a_flooded_order())
    assert "Repeats 820 times, 02:30 to 02:30, 40 alarms" in said
    assert "First out E101 供钉直轨 event evt-1 from 边缘盒 Its order WO-20260805-0001" in said
    assert "Began 2026-08-05 02:30:00 Ended not yet" in said
    lines = printed(order_lines(a_flooded_order(), SHANGHAI, 120), 120)
    [row] = [" ".join(line.split()) for line in lines if "E012" in line]
    assert row == "老化房温控系统12号机组 E012 700 12 02:30:00 02:42:00 - 000000000000"
    ended = shown(an_order(flood=a_flood(ended_at=NOW + timedelta(hours=1))))
    assert "Ended 2026-08-05 03:30:00" in ended
    assert "Alarms" in ended  # also where the leader is alone so far


def test_rows_of_several_days_name_the_day_and_of_several_years_the_year() -> None:
    rows = [a_row(), a_row(first_at=NOW - timedelta(days=1), occurrences=2)]
    assert " 08-04 02:30 08-05 02:30" in shown(an_order(alarms=rows))
    rows[1]["cleared_at"] = NOW.replace(year=2030)
    assert " 2026-08-04 02:30 2026-08-05 02:30 2030-08-05 02:30" in shown(an_order(alarms=rows))


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_of_a_flood_is_wider_than_the_terminal_and_no_row_or_count_is_lost(width: int) -> None:
    order = a_flooded_order(repeat_of="WO-20260804-0003", cleared_at=NOW)
    lines = printed(order_lines(order, SHANGHAI, width), width)
    assert max(map(cell_len, lines)) <= width
    for number in range(1, 41):
        [row] = [line for line in lines if f" E{number:03} " in line]
        assert f" {number} " in row
        minutes = NOW + timedelta(minutes=number)
        assert f"{minutes.astimezone(SHANGHAI):%H:%M:%S}" in row
        assert "…" not in row.split(f"E{number:03}")[1]


def test_a_history_entry_that_moves_nothing_says_that_the_order_still_stands_there() -> None:
    raised = {
        "from_status": "Ready",
        "to_status": "Ready",
        "changed_by": "plc-7",
        "note": "severity 500 -> 900, priority 3 -> 1 (event evt-9)",
        "changed_at": NOW,
    }
    said = shown(an_order(history=[raised, raised | {"from_status": "Waiting"}]))
    assert "still Ready by plc-7 severity 500 -> 900, priority 3 -> 1 (event evt-9)" in said
    assert said.count("still") == 1


def test_the_list_counts_only_when_there_is_something_to_count() -> None:
    head, *rest = listed(an_order(), an_order())
    assert "#" not in head
    assert not any("occurrences" in line for line in rest)
    orders = [an_order(line_name="A线", equipment="B", occurrences=count) for count in (1234, 1)]
    head, _, first, second, *_, legend = listed(*orders)
    column = head.split().index("#")
    assert [row.split()[column] for row in (first, second)] == ["1,234", "1"]
    assert legend.strip() == "# occurrences"


def test_the_list_marks_what_is_cleared_also_when_it_came_but_once() -> None:
    _, _, gone, there, *_, legend = listed(an_order(cleared_at=NOW), an_order(occurrences=3))
    assert "1 ◦" in gone
    assert "◦" not in there
    assert legend.strip() == "# occurrences   ◦ cleared"


def test_the_list_marks_a_flood() -> None:
    _, _, flood, gone, *_, legend = listed(
        an_order(flood=a_flood(), cleared_at=NOW), an_order(flood=a_flood(), occurrences=7)
    )
    assert "1 ≋ ◦" in flood
    assert "7 ≋ " in gone
    assert "◦" not in gone
    assert legend.strip() == "# occurrences   ≋ flood   ◦ cleared"


@pytest.mark.parametrize("width", WIDTHS)
def test_the_count_leaves_no_line_too_wide_and_stays_where_columns_are_left_out(width: int) -> None:
    orders = [an_order(occurrences=12, cleared_at=NOW), an_order(occurrences=1, status="Waiting")]
    lines = listed(*orders, width=width)
    assert max(map(cell_len, lines)) <= width
    assert "#" in lines[0]
    assert "12 ◦" in lines[2]
    assert all("WO-20260805-10001" in line for line in lines[2:4])


def test_an_occurrence_says_what_it_is_and_of_which_order() -> None:
    event = {
        "event_id": "evt-9",
        "source": "plc-7",
        "state": "active",
        "equipment": "供钉直轨",
        "fault_code": "E101",
        "native_code": "e-101",
        "occurred_at": NOW,
        "leader": {"event_id": "evt-1", "source": "边缘盒"},
    }

    def said(event: dict[str, Any], order_id: str | None) -> str:
        return " ".join(printed(part_line(event, order_id, SHANGHAI), 200))

    line = "event evt-9 from plc-7, E101 供钉直轨, 2026-08-05 02:30:00, is"
    assert said(event, "WO-20260805-0001") == f"{line} an occurrence of WO-20260805-0001"
    assert said(event | {"state": "cleared"}, None) == f"{line} the clear of event evt-1 from 边缘盒"
    hostile = event | {"event_id": HOSTILE, "source": HOSTILE, "equipment": HOSTILE, "fault_code": HOSTILE}
    assert not set("\x1b\u202e") & set(said(hostile, None))


def test_text_from_outside_cannot_play_tricks_in_a_flood() -> None:
    first_out = {"event_id": HOSTILE, "source": HOSTILE, "equipment": HOSTILE, "fault_code": HOSTILE}
    flood = a_flood(line_name=HOSTILE, first_out=first_out | {"order_id": None})
    rows = [a_row(equipment=HOSTILE, fault_code=HOSTILE), a_row()]
    view = order_lines(an_order(flood=flood, alarms=rows, repeat_of=HOSTILE), SHANGHAI, 120)
    assert not set("\x1b\u202e") & set("\n".join(printed(view, 200)))
