"""The states of the plant's data that each misbehaviour meets."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import text

from db.models import ManualEntry, RosterEntry
from db.session import Database
from tests.misbehaviour.injection import IN_A_PART, IN_THE_MANUAL

LINE = "交互屏组装B线"
LONG = ["长步骤" * 40 + str(n) for n in range(60)]
PARTS = ["触摸屏", "VG-ZH10", "真空吸盘", "工业相机", "环形光源", "螺丝批头", "TS-05N", "急停按钮", "无此件"]


def steady(database: Database, zone: ZoneInfo) -> None:
    """One shift of the line for the whole day around now, so that none ends while the tests run."""
    began = datetime.now(zone) - timedelta(hours=6)
    starts = began.time().replace(microsecond=0)
    _execute(database, "DELETE FROM roster_entry WHERE line_name = :line", line=LINE)
    with database.writing() as session:
        session.add(
            RosterEntry(
                line_name=LINE,
                shift_date=began.date(),
                shift_name="全天",
                starts=starts,
                ends=starts,
                person="陈晓明",
                phone="分机 2101",
            )
        )


def _empty(*tables: str) -> Callable[[Database], None]:
    return lambda database: _execute(database, *(f"DELETE FROM {name}" for name in tables))


def _down(table: str) -> Callable[[Database], None]:
    return lambda database: _execute(database, f"DROP TABLE {table}")


def _execute(database: Database, *statements: str, **values: Any) -> None:
    with database.writing() as session:
        for statement in statements:
            session.execute(text(statement), values)


def _poisoned(database: Database) -> None:
    """Instructions in everything that the manual says, and in the name of the part that it wants."""
    lists = "causes = :words, safety = :words, steps = :words, parts = :parts"
    _execute(
        database,
        f"UPDATE manual_entry SET title = :title, {lists} WHERE code_key = 'E401'",
        title=IN_THE_MANUAL,
        words=json.dumps([IN_THE_MANUAL]),
        parts=json.dumps([IN_A_PART]),
    )
    _execute(database, "UPDATE spare_part SET name = :part WHERE number = 'TP-MT8071'", part=IN_A_PART)


def _long(database: Database) -> None:
    """An entry whose answer is far over 8 KB, with more parts than one turn may ask for."""
    _execute(
        database,
        "UPDATE manual_entry SET causes = :long, steps = :long, parts = :parts WHERE code_key = 'E401'",
        long=json.dumps(LONG),
        parts=json.dumps(PARTS),
    )


def _ambiguous(database: Database) -> None:
    """Two entries for the code, of other classes than the alarm's, which the manual does not know."""
    _execute(database, "UPDATE manual_entry SET equipment_class = '点胶机' WHERE equipment_class = '贴合机'")
    with database.writing() as session:
        session.add(
            ManualEntry(
                fault_code="E401",
                code_key="E401",
                equipment_class="涂布机",
                title="涂布头堵塞",
                symptoms="不出胶",
                causes=["胶水固化"],
                safety=["断电并挂牌上锁"],
                steps=["清洗涂布头"],
                parts=["真空吸盘"],
            )
        )


STATES: dict[str, Callable[[Database], None]] = {
    "all there": lambda _database: None,
    "no manual": _empty("manual_entry"),
    "no roster": _empty("roster_entry"),
    "no parts": _empty("spare_part"),
    "nothing": _empty("manual_entry", "roster_entry", "spare_part"),
    "manual down": _down("manual_entry"),
    "roster down": _down("roster_entry"),
    "parts down": _down("spare_part"),
    "poisoned": _poisoned,
    "long": _long,
    "ambiguous": _ambiguous,
}
"""What each does to the sample plant."""
