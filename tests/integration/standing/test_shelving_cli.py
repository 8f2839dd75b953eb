"""`work-orders shelve`, `unshelve` and `shelved` as a person or a script calls them."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from db.session import Database
from tests.helpers.support import accepted, an_alarm
from tests.helpers.work_orders import Command, made, printed, refused

SHANGHAI = ZoneInfo("Asia/Shanghai")
OPTIONS = ["--until", "8h", "--by", "王芳", "--why", "等备件"]


def test_a_fault_is_shelved_seen_and_taken_off_the_shelf(database: Database, work_orders: Command) -> None:
    order_id = made(database, equipment="贴合机", event_id="evt-1")
    own = json.loads(printed(work_orders("show", order_id, "--json")))["fingerprint"]
    assert own[:12] in printed(work_orders("show", order_id))
    said = printed(work_orders("shelve", own[:12], *OPTIONS))
    [shelved] = json.loads(printed(work_orders("shelved", "--json")))
    until = datetime.fromisoformat(shelved["until"])
    assert timedelta(hours=7, minutes=59) < until - datetime.now(UTC) <= timedelta(hours=8)
    assert said == (
        f"{own[:12]} (E401 贴合机 交互屏组装A线): until {until.astimezone(SHANGHAI):%Y-%m-%d %H:%M} "
        f"Asia/Shanghai its alarms are kept and counted, and make no work order; "
        f"what has not been cleared by then gets its order; {order_id} stays as it is\n"
    )
    accepted(database, an_alarm(equipment="贴合机"), now=datetime.now(UTC))
    table = printed(work_orders("shelved"))
    assert all(told in table for told in (own[:12], "E401", "贴合机", "王芳", "等备件"))
    assert "already" in refused(work_orders("shelve", order_id, *OPTIONS), 1)
    ended = printed(work_orders("unshelve", order_id, "--by", "李明"))
    assert ended == (
        f"{own[:12]} (E401 贴合机 交互屏组装A线): no longer shelved, by 李明; 1 alarm was kept back; "
        "what has not been cleared gets its order within seconds\n"
    )
    assert printed(work_orders("shelved")).startswith("nothing is shelved in ")
    [kept] = json.loads(printed(work_orders("shelved", "--all", "--json")))
    assert (kept["ended_by"], kept["kept_back"], kept["why"]) == ("李明", 1, "等备件")
    assert kept["until"] == shelved["until"]
    assert f"{until.astimezone(SHANGHAI):%m-%d %H:%M}" in printed(work_orders("shelved", "--all"))
    assert "not shelved" in refused(work_orders("unshelve", order_id, "--by", "李明"), 1)


def test_a_shelved_alarm_says_why_it_has_no_order(database: Database, work_orders: Command) -> None:
    accepted(database, an_alarm(equipment="贴合机"))
    made(database, equipment="供钉机")
    printed(work_orders("shelve", "WO-20260804-0001", *OPTIONS))
    accepted(database, an_alarm(equipment="供钉机", event_id="kept"), now=datetime.now(UTC))
    [shelved] = json.loads(printed(work_orders("shelved", "--json")))
    until = datetime.fromisoformat(shelved["until"]).astimezone(SHANGHAI)
    why = (
        f"its fingerprint was shelved by '王芳' until {until:%Y-%m-%d %H:%M}+08:00 ('等备件'); then, unless "
        "the fault has been cleared, it joins WO-20260804-0001, or another order if that one has ended"
    )
    said = printed(work_orders("show", "kept"))
    assert said == f"event 'kept' from 'plc-7' is shelved and has no work order; {why}\n"
    assert json.loads(printed(work_orders("show", "kept", "--json"))) == {
        "order_id": None,
        "event_id": "kept",
        "source": "plc-7",
        "alarm_status": "shelved",
        "reason": why,
    }


def test_nothing_was_ever_shelved_is_said_with_the_place(database: Database, work_orders: Command) -> None:
    where = database.url.render_as_string(hide_password=True).removeprefix("sqlite:///")
    assert printed(work_orders("shelved")) == f"nothing is shelved in {where}\n"
    assert printed(work_orders("shelved", "--all")) == f"nothing was ever shelved in {where}\n"
    assert json.loads(printed(work_orders("shelved", "--json"))) == []


def test_a_fault_whose_names_would_break_the_line_is_shelved_in_one(
    database: Database, work_orders: Command
) -> None:
    order_id = made(database, equipment="贴\x1b[2J合\n机")
    [line] = printed(work_orders("shelve", order_id, *OPTIONS)).splitlines()
    assert "\x1b" not in line
    [line] = printed(work_orders("unshelve", order_id, "--by", "李明")).splitlines()
    assert line.endswith("no alarms were kept back")


def test_what_is_not_known_is_said_in_one_line(database: Database, work_orders: Command) -> None:
    made(database)
    for key in ("0123456789", "f" * 64):
        line = refused(work_orders("shelve", key, *OPTIONS), 1)
        assert f"no alarm has a fingerprint that begins with {key}" in line
    assert "WO-20260804-0009" in refused(work_orders("unshelve", "WO-20260804-0009", "--by", "x"), 1)


BAD = [
    (["shelve", "0123456", *OPTIONS], "8 to 64 hex digits"),
    (["shelve", "0" * 65, *OPTIONS], "8 to 64 hex digits"),
    (["shelve", "evt-12345", *OPTIONS], "an order's id"),
    (["shelve", "WO-1", *OPTIONS], "an order's id"),
    (["shelve", "０１２３４５６７", *OPTIONS], "8 to 64 hex digits"),
    (["shelve", " ", *OPTIONS], "FINGERPRINT is blank"),
    (["shelve", "01234567", "--until", "x", "--by", "x", "--why", "x"], "--until"),
    (["shelve", "01234567", "--until", "8h", "--by", " ", "--why", "x"], "--by is blank"),
    (["shelve", "01234567", "--until", "8h", "--by", "x", "--why", " "], "--why is blank"),
    (["shelve", "01234567", "--until", "8h", "--by", "x", "--why", "长" * 4001], "4001"),
    (["shelve", "01234567", "--until", "8h", "--by", "x" * 201, "--why", "x"], "201"),
    (["shelve", "01234567", "--until", "8h", "--by", "x", "--why", "a\0"], "--why"),
    (["unshelve", "0123456g", "--by", "x"], "8 to 64 hex digits"),
    (["unshelve", "01234567", "--by", "\udcff"], "--by"),
]


@pytest.mark.parametrize(("arguments", "said"), BAD)
def test_an_argument_that_cannot_be_right_is_refused_in_one_line(
    command: Command, tmp_path: Path, arguments: list[str], said: str
) -> None:
    assert said in refused(command(*arguments, DATABASE_URL=f"sqlite:///{tmp_path}/none.db"), 2)
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    "arguments",
    [["shelved"], ["shelve", "01234567", *OPTIONS], ["unshelve", "01234567", "--by", "x"]],
)
def test_a_database_that_is_not_there_is_not_made(
    command: Command, tmp_path: Path, arguments: list[str]
) -> None:
    assert "alarm-db upgrade" in refused(command(*arguments, DATABASE_URL=f"sqlite:///{tmp_path}/no.db"), 1)
    assert list(tmp_path.iterdir()) == []
