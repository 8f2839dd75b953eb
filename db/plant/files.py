"""Reads one CSV file, strictly: what is not plainly UTF-8 and a table is a problem, not a guess."""

import csv
import io
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from db.plant.problems import Problems, shown

MAX_FILE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Line:
    """One row: where it begins in the file, and its cells by column, without the space around them."""

    number: int
    cells: dict[str, str]


def read(file: Path, columns: Sequence[str], problems: Problems) -> list[Line]:
    """The rows of the file that can be read; what cannot is added to the problems."""
    text = _text(file, problems)
    if text is None:
        return []
    if not text.strip():
        problems.add(file, f"is empty; wants the header {','.join(columns)}", 1)
        return []
    records = _records(file, text, problems)
    try:
        number, header = next(records)
    except StopIteration:
        return []
    names = [unicodedata.normalize("NFKC", name).strip().lower() for name in header]
    if not _header_is_right(file, number, names, columns, problems):
        return []
    return [line for number, record in records if (line := _line(file, number, names, record, problems))]


def _text(file: Path, problems: Problems) -> str | None:
    try:
        size = file.stat().st_size
        raw = file.read_bytes() if size <= MAX_FILE_BYTES else b""
    except FileNotFoundError:
        problems.add(file, f"is missing in {file.parent}")
        return None
    except OSError as error:
        problems.add(file, f"cannot be read: {error.strerror}")
        return None
    if size > MAX_FILE_BYTES:
        problems.add(file, f"is {size:,} bytes; at most {MAX_FILE_BYTES:,} are read")
        return None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        byte = error.object[error.start]
        problems.add(file, f"is not UTF-8 (byte 0x{byte:02X}); save it as UTF-8 (in Excel: CSV UTF-8)", line)
        return None


def _records(file: Path, text: str, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """Each record that is not blank, with the line it begins on; a quoted cell may run over several."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    begins = 1
    try:
        for record in reader:
            if any(cell.strip() for cell in record):
                yield begins, record
            begins = reader.line_num + 1
    except csv.Error as error:
        problems.add(file, f"is not CSV from here on: {error}; look at the quotation marks", begins)


def _header_is_right(
    file: Path, number: int, names: Sequence[str], columns: Sequence[str], problems: Problems
) -> bool:
    missing = [column for column in columns if column not in names]
    extra = [name for name in names if name and name not in columns]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if missing and len(names) == 1 and any(mark in names[0] for mark in ";\t"):
        problems.add(file, "the columns are not separated by commas; save it as CSV with commas", number)
        return False
    for fault, found in (("lacks", missing), ("has besides", extra), ("has twice", twice)):
        if found:
            names_found = ", ".join(shown(name) for name in found)
            problems.add(file, f"the header {fault} {names_found}; wants {','.join(columns)}", number)
    return not (missing or extra or twice)


def _line(
    file: Path, number: int, names: Sequence[str], record: Sequence[str], problems: Problems
) -> Line | None:
    if len(record) != len(names):
        problems.add(
            file,
            f"has {len(record)} cells where the header has {len(names)}; "
            "text that holds a comma wants quotation marks around it",
            number,
        )
        return None
    cells: dict[str, str] = {}
    good = True
    for position, (name, cell) in enumerate(zip(names, record, strict=True), 1):
        if "\0" in cell:
            complaint = "holds a NUL character, which cannot be stored"
        elif not name and cell.strip():
            complaint = f"is {shown(cell)}, but the header names no such column"
        else:
            cells[name] = cell.strip()
            continue
        problems.add(file, complaint, number, name or str(position))
        good = False
    return Line(number, cells) if good else None
