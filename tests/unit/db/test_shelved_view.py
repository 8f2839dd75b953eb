"""Shelvings in terminals of several widths."""

import re
from datetime import timedelta
from typing import Any

import pytest
from rich.cells import cell_len

from db.views.tables import shelved_table
from tests.unit.db.test_tables import NOW, SHANGHAI, WIDTHS, printed

# NOW is 02:30 on 5 August in Shanghai.
HEADS = ["Fingerprint", "Code", "Line", "Equipment", "Until", "Ended", "Ended by", "By", "Kept back", "Why"]


def a_shelving(**overrides: Any) -> dict[str, Any]:
    facts = {
        "id": 1,
        "fingerprint": "fedcba9876543210" * 4,
        "line_name": "整机老化测试B线（东区二楼）",
        "equipment": "老化房温控系统三号机组",
        "fault_code": "E205",
        "until": NOW,
        "shelved_by": "欧阳建国",
        "why": "传感器已下单，周五到货",
        "shelved_at": NOW,
        "ended_at": None,
        "ended_by": None,
        "kept_back": 1234,
    }
    return facts | overrides


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_shelved_fits_the_terminal_with_fingerprint_until_and_count(width: int) -> None:
    for rows in ([a_shelving()], [a_shelving(), a_shelving(ended_at=NOW, ended_by="王芳")]):
        lines = printed(shelved_table(rows, SHANGHAI, width), width)
        assert max(map(cell_len, lines)) <= width
        told = [line for line in lines if "fedcba987654" in line]
        assert len(told) == len(rows)
        assert all(said in line for line in told for said in ("E205", "08-05 02:30", "1,234"))


@pytest.mark.parametrize(("width", "missing"), [(80, ["Line", "Ended by", "By"]), (100, ["Line"]), (120, [])])
def test_why_a_fault_was_shelved_is_told_before_who_and_where(width: int, missing: list[str]) -> None:
    rows = [a_shelving(), a_shelving(ended_at=NOW, ended_by="王芳", until=NOW + timedelta(hours=5))]
    lines = printed(shelved_table(rows, SHANGHAI, width), width)
    heads = re.split(" {2,}", lines[0].strip())
    assert [head for head in HEADS if head not in heads] == missing
    assert any("08-05 07:30  08-05 02:30" in line for line in lines)  # what was agreed beside the end


def test_who_ended_a_shelving_is_told_before_a_worker_has_done_it() -> None:
    head, _, row = printed(shelved_table([a_shelving(ended_by="王芳")], SHANGHAI, 200), 200)
    assert "Ended by" in head
    assert "王芳" in row


def test_how_a_shelving_ended_is_told_when_one_has() -> None:
    assert "Ended" not in printed(shelved_table([a_shelving()], SHANGHAI, 200), 200)[0]
    rows = [a_shelving(), a_shelving(ended_at=NOW), a_shelving(ended_at=NOW, ended_by="王芳")]
    _, _, lasting, by_itself, by_person = printed(shelved_table(rows, SHANGHAI, 200), 200)
    assert "by itself" not in lasting
    assert "by itself" in by_itself
    assert "王芳" in by_person
    assert "传感器已下单，周五到货" in lasting


def test_text_from_outside_cannot_play_tricks_in_a_shelving() -> None:
    hostile = "A\x1b[2J\u202e\n线"
    table = shelved_table([a_shelving(equipment=hostile, why=hostile, shelved_by=hostile)], SHANGHAI, 200)
    assert not set("\x1b\u202e") & set("\n".join(printed(table, 200)))
