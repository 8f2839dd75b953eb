"""What is wrong in the plant's files is said with its file, line and column, and stops the loading."""

import re
import shutil
from pathlib import Path

import pytest

from db.errors import PlantDataError
from db.plant import load
from db.session import Database
from tests.helpers.plant_files import HEADERS, REAL_DATA
from tests.helpers.support import NOW, ZONE


@pytest.fixture
def here(tmp_path: Path) -> Database:
    """A database that must not be reached: loading stops at the files."""
    return Database(f"sqlite:///{tmp_path / 'unused.db'}")


def problems(here: Database, folder: Path) -> tuple[str, ...]:
    with pytest.raises(PlantDataError) as caught:
        load(here, folder, ZONE, NOW)
    return caught.value.problems


ROSTER, PARTS = "roster.csv", "spare_parts.csv"
WRONG_ROWS = [
    (ROSTER, "L,2026-13-01,d,08:00,20:00,A,", r"column shift_date: is '2026-13-01', .* wants 2026-08-04"),
    (ROSTER, "L,04.08.2026,d,08:00,20:00,A,", r"column shift_date: is '04\.08\.2026', which is not a date"),
    (ROSTER, "L,,d,08:00,20:00,A,", r"column shift_date: is empty; wants 2026-08-04"),
    (ROSTER, "L,today+99999,d,08:00,20:00,A,", r"column shift_date: is 'today\+99999'"),
    (ROSTER, "L,9999-12-31,d,08:00,20:00,A,", r"column shift_date: is '9999-12-31'"),
    (ROSTER, "L,today+2..today,d,08:00,20:00,A,", r"column shift_date: .* ends before it begins"),
    (ROSTER, "L,2020-01-01..2026-01-01,d,08:00,20:00,A,", r"a range of 2193 days; at most 366"),
    (ROSTER, "L,today,d,08:00,25:00,A,", r"column ends: is '25:00', which is not a time; wants .* 08:00"),
    (ROSTER, "L,today,d,24:00,08:00,A,", r"column starts: is '24:00', which is not a time"),
    (ROSTER, "L,today,d,8,20:00,A,", r"column starts: is '8', which is not a time"),
    (ROSTER, "L,today,d,,20:00,A,", r"column starts: is empty; wants hours and minutes"),
    (ROSTER, "L,today,d,08:00,20:00,,", r"column person: is empty; wants text"),
    (PARTS, "N,n,,-3,pcs,,0", r"column quantity: is '-3'; wants a whole number from 0"),
    (PARTS, "N,n,,2.5,pcs,,0", r"column quantity: is '2\.5'; wants a whole number"),
    (PARTS, "N,n,,1,pcs,,", r"column minimum: is empty; wants a whole number"),
    (PARTS, "N,n,,2147483648,pcs,,0", r"column quantity: .* wants a whole number from 0 to 2147483647"),
    (PARTS, "N,n,a||b,1,pcs,,0", r"column aliases: is 'a\|\|b', which has an empty item"),
    (PARTS, "N,n,a|,1,pcs,,0", r"column aliases: is 'a\|', which has an empty item"),
    (PARTS, f"{'N' * 101},n,,1,pcs,,0", r"column number: is 101 characters long; at most 100 fit"),
    (PARTS, f"N,n,a|{'b' * 201},1,pcs,,0", r"column aliases: .* item of 201 characters; at most 200"),
    (PARTS, "N,n\0,,1,pcs,,0", r"column name: holds a NUL character"),
    (PARTS, "N,n,,1,pcs,shelf A, row 3,0", r"has 8 cells where the header has 7; .* quotation marks"),
    (PARTS, "N,n,,1", r"has 4 cells where the header has 7"),
    (PARTS, 'N,"n,,1,pcs,,0', r"is not CSV from here on: unexpected end of data"),
    ("equipment.csv", "L,,c,A", r"column name: is empty; wants text"),
    ("manual.csv", f"E1,c,{'t' * 301},,,,,", r"column title: is 301 characters long; at most 300 fit"),
    ("manual.csv", "E1,c,t,s,a,b,c,x|　|y", r"column parts: .* has an empty item"),
    ("manual.csv", "E1,c,t,s,a,b,c," + "|".join("x" * 51), r"column parts: .* has 51 items; at most 50 are"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "row", "said"), WRONG_ROWS)
def test_a_wrong_row_is_said_by_file_line_and_column(
    here: Database, folder: Path, file: str, row: str, said: str
) -> None:
    (folder / file).write_text(f"{HEADERS[file]}\n\n{row}\n")
    (problem,) = problems(here, folder)
    assert problem.startswith(f"{file}, line 3")
    assert re.search(said, problem), problem


@pytest.mark.parametrize(
    ("file", "rows", "said"),
    [
        ("equipment.csv", ["L,M,c,A", "L,N,c,A", "L,M,d,B"], "line_name 'L', name 'M' as line 2"),
        ("manual.csv", ["E401,c,t,,,,,", "E402,c,t,,,,,", "e-401,c,u,,,,,"],
         "fault_code 'E401', equipment_class 'c' as line 2"),
        (PARTS, ["N,n,,1,pcs,,0", "M,n,,1,pcs,,0", "N,m,,1,pcs,,0"], "number 'N' as line 2"),
        ("roster.csv", [
            "L,today..today+9,d,08:00,20:00,A,", "L,today,d,08:00,20:00,B,", "L,2026-08-06,d,09:00,20:00,A,"
        ], "shift_date '2026-08-06', shift_name 'd', person 'A' as line 2"),
    ],
)  # fmt: skip
def test_a_row_that_stands_twice_is_said_with_the_line_of_the_first(
    here: Database, folder: Path, file: str, rows: list[str], said: str
) -> None:
    (folder / file).write_text("\n".join([HEADERS[file], *rows]))
    (problem,) = problems(here, folder)
    assert problem.startswith(f"{file}, line 4: has the same ")
    assert problem.endswith(said)


def test_the_line_of_a_row_is_where_it_begins(here: Database, folder: Path) -> None:
    (folder / "equipment.csv").write_text(
        f'{HEADERS["equipment.csv"]}\nL,"M\n1",c,A\n"L\n\n2",,c,"B\nC"\n', newline=""
    )
    (problem,) = problems(here, folder)
    assert problem.startswith("equipment.csv, line 4, column name")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("line_name,name,leader\nL,M,A\n", "line 1: the header lacks 'equipment_class'; wants line_name,"),
        ("line_name,name,equipment_class,leader,phone\n", "line 1: the header has besides 'phone'"),
        ("line_name,name,equipment_class,leader,name\n", "line 1: the header has twice 'name'"),
        ("line_name;name;equipment_class;leader\n", "line 1: the columns are not separated by commas"),
        ("line_name,name,equipment_class,leader,\nL,M,c,A,x\n", "line 2, column 5: is 'x', but the header"),
        ("", "line 1: is empty; wants the header line_name,name,equipment_class,leader"),
        (" \n\n", "line 1: is empty; wants the header"),
        ("产线,设备\n", "the header lacks"),
    ],
)
def test_a_wrong_header_is_said(here: Database, folder: Path, raw: str, said: str) -> None:
    (folder / "equipment.csv").write_text(raw)
    assert said in problems(here, folder)[0]


def test_a_file_in_gbk_is_said_to_be_no_utf8_with_its_line(here: Database, folder: Path) -> None:
    raw = f"{HEADERS['equipment.csv']}\r\nL,M,c,A\r\n产线,设备,类别,组长\r\n".encode("gbk")
    (folder / "equipment.csv").write_bytes(raw)
    (problem,) = problems(here, folder)
    assert (
        problem == "equipment.csv, line 3: is not UTF-8 (byte 0xB2); save it as UTF-8 (in Excel: CSV UTF-8)"
    )


def test_a_file_in_utf16_is_said_to_be_no_utf8(here: Database, folder: Path) -> None:
    (folder / "equipment.csv").write_text(HEADERS["equipment.csv"], encoding="utf-16")
    assert "line 1: is not UTF-8 (byte 0xFF)" in problems(here, folder)[0]


def test_missing_files_are_said_with_the_folder(here: Database, folder: Path) -> None:
    (folder / "roster.csv").unlink()
    (folder / "manual.csv").unlink()
    (folder / "manual.csv").mkdir()
    assert problems(here, folder) == (
        "manual.csv: cannot be read: Is a directory",
        f"roster.csv: is missing in {folder}",
    )


def test_a_folder_that_is_not_there_is_said(here: Database, tmp_path: Path) -> None:
    (problem,) = problems(here, tmp_path / "nowhere")
    assert "is not a folder" in problem
    assert "spare_parts.csv" in problem


def test_all_files_are_read_before_anything_is_said(here: Database, folder: Path) -> None:
    (folder / "equipment.csv").write_text(f"{HEADERS['equipment.csv']}\n,,c,A\n")
    (folder / "spare_parts.csv").write_text(f"{HEADERS['spare_parts.csv']}\nN,n,,x,pcs,,y\n")
    assert [said.split(":")[0] for said in problems(here, folder)] == [
        "equipment.csv, line 2, column line_name",
        "equipment.csv, line 2, column name",
        "spare_parts.csv, line 2, column quantity",
        "spare_parts.csv, line 2, column minimum",
    ]


def test_of_many_problems_twenty_are_said_and_the_rest_counted(here: Database, folder: Path) -> None:
    rows = "".join(f"N{number},n,,x,pcs,,0\n" for number in range(50))
    (folder / "spare_parts.csv").write_text(f"{HEADERS['spare_parts.csv']}\n{rows}")
    with pytest.raises(PlantDataError) as caught:
        load(here, folder, ZONE, NOW)
    assert (len(caught.value.problems), caught.value.total) == (20, 50)
    assert str(caught.value).splitlines()[-1] == "… and 30 more"


def test_a_roster_that_grows_without_bound_is_refused(here: Database, folder: Path) -> None:
    rows = "".join(f"L{number},2024-01-01..2024-12-31,d,08:00,20:00,A,\n" for number in range(600))
    (folder / "roster.csv").write_text(f"{HEADERS['roster.csv']}\n{rows}")
    (problem,) = problems(here, folder)
    assert "makes more than 200,000 rows" in problem


@pytest.mark.skipif(not REAL_DATA.is_dir(), reason="the real files are not beside this repository")
def test_a_real_log_in_gbk_is_refused_as_no_utf8(here: Database, folder: Path) -> None:
    shutil.copyfile(REAL_DATA / "DOM门槛梁停机异常记录表.csv", folder / "roster.csv")
    (problem,) = problems(here, folder)
    assert problem.startswith("roster.csv, line 1: is not UTF-8")


@pytest.mark.skipif(not REAL_DATA.is_dir(), reason="the real files are not beside this repository")
def test_a_real_parts_list_is_refused_by_its_header(here: Database, folder: Path) -> None:
    shutil.copyfile(REAL_DATA / "spare_parts.csv", folder / "spare_parts.csv")
    lacks, besides = problems(here, folder)
    assert "the header lacks 'number', 'name'" in lacks
    assert "'备件名称', '型号'" in besides
