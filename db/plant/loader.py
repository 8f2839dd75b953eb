"""Puts a folder of four CSV files in the place of all that the database knows of the plant."""

from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import ValidationError
from sqlalchemy import delete, insert, text

from db.models import Base
from db.plant.files import Line, read
from db.plant.problems import Problems, shown
from db.plant.rows import EquipmentRow, ManualRow, PartRow, RosterRow, Row, complaint
from db.session import Database
from db.settings import PlantSettings, settings_or_exit

SAMPLE = Path(__file__).parent / "sample"
MAX_TABLE_ROWS = 200_000
FILES: tuple[type[Row], ...] = (EquipmentRow, ManualRow, RosterRow, PartRow)

Rows = list[dict[str, Any]]


def load(
    database: Database,
    folder: Path | None = None,
    zone: ZoneInfo | None = None,
    now: datetime | None = None,
) -> dict[str, int]:
    """Replaces the plant's four tables by the folder's files, or by the sample plant; rows by table.

    `today` in the roster is the date of `now` in `zone` (else: the plant's). All is changed, or nothing:
    PlantDataError names each file, line and column that is wrong.
    """
    folder = SAMPLE if folder is None else folder
    today = (now or datetime.now(UTC)).astimezone(zone or settings_or_exit(PlantSettings).zone).date()
    tables = _read_all(folder, today)
    with database.writing() as session:
        if not database.is_sqlite:  # of two loads at once, one waits for the other; readers do not
            names = ", ".join(table.__tablename__ for table in tables)
            session.execute(text(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE"))
        for table, rows in tables.items():
            session.execute(delete(table))
            if rows:
                session.execute(insert(table), rows)
    return {table.__tablename__: len(rows) for table, rows in tables.items()}


def _read_all(folder: Path, today: date) -> dict[type[Base], Rows]:
    problems = Problems()
    if not folder.is_dir():
        wanted = ", ".join(row.file for row in FILES)
        problems.add(folder, f"is not a folder ({folder}); wants one with {wanted}")
        problems.raise_if_any()
    tables = {}
    for row in FILES:
        file = folder / row.file
        lines = read(file, tuple(row.model_fields), problems)
        tables[row.table] = _rows(file, row, lines, today, problems)
    problems.raise_if_any()
    return tables


def _rows(file: Path, kind: type[Row], lines: Iterable[Line], today: date, problems: Problems) -> Rows:
    rows: Rows = []
    first_lines: dict[tuple[Any, ...], int] = {}
    for line in lines:
        try:
            row = kind.model_validate(line.cells, context={"today": today})
        except ValidationError as error:
            for detail in error.errors():
                problems.add(file, complaint(detail), line.number, str(detail["loc"][0]))
            continue
        new = list(row.values())
        for values in new:
            key = tuple(values[column] for column in kind.unique)
            first = first_lines.setdefault(key, line.number)
            if first != line.number:
                said = ", ".join(f"{_heading(name)} {shown(str(values[name]))}" for name in kind.unique)
                problems.add(file, f"has the same {said} as line {first}", line.number)
                break
        rows.extend(new)
        if len(rows) > MAX_TABLE_ROWS:
            problems.add(file, f"makes more than {MAX_TABLE_ROWS:,} rows up to here", line.number)
            break
    return rows


def _heading(column: str) -> str:
    """What the file calls the column."""
    return "fault_code" if column == "code_key" else column
