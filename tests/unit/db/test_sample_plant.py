"""The sample plant: what it holds and lacks, and that the simulator's alarms are of this plant."""

from datetime import date, time

import pytest
from sqlalchemy import func, select

from db.codes import comparable
from db.models import Equipment, ManualEntry, RosterEntry, SparePart
from db.plant import load
from db.session import Database
from producers.simulator import CODES, LINES
from tests.helpers.support import NOW, ZONE

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

NOT_IN_THE_MANUAL = {("老化架", "T302"), ("程控电源", "P502"), ("Palletizing robot", "K602")}


def test_the_sample_plant_has_five_lines_twenty_manual_entries_and_thirty_parts(database: Database) -> None:
    rows = load(database, None, ZONE, NOW)
    assert (rows["equipment"], rows["manual_entry"], rows["spare_part"]) == (9, 20, 30)
    with database.reading() as session:
        assert session.scalar(select(func.count(func.distinct(Equipment.line_name)))) == 5
        for model in (Equipment, ManualEntry, RosterEntry, SparePart):
            assert session.scalar(select(func.count()).select_from(model)) == rows[model.__tablename__]


def test_three_codes_of_the_sample_are_shared_by_two_classes(database: Database) -> None:
    load(database, None, ZONE, NOW)
    with database.reading() as session:
        shared = select(ManualEntry.code_key).group_by(ManualEntry.code_key).having(func.count() == 2)
        assert sorted(session.scalars(shared)) == ["E101", "E210", "E300"]


def test_the_samples_e401_suggests_the_touch_screen_which_is_in_the_store(database: Database) -> None:
    load(database, None, ZONE, NOW)
    with database.reading() as session:
        entry = session.scalars(select(ManualEntry).where(ManualEntry.code_key == "E401")).one()
        assert (entry.equipment_class, entry.title, entry.parts) == ("贴合机", "触摸屏通讯中断", ["触摸屏"])
        part = session.scalars(select(SparePart).where(SparePart.name == "触摸屏")).one()
        assert "HMI" in part.aliases


def test_every_class_of_the_sample_has_equipment_and_a_manual(database: Database) -> None:
    load(database, None, ZONE, NOW)
    with database.reading() as session:
        used = set(session.scalars(select(Equipment.equipment_class)))
        assert used == set(session.scalars(select(ManualEntry.equipment_class)))


def test_two_of_the_samples_manual_entries_suggest_a_part_that_is_not_in_the_store(
    database: Database,
) -> None:
    load(database, None, ZONE, NOW)
    with database.reading() as session:
        known = {
            comparable(name)
            for part in session.scalars(select(SparePart))
            for name in (part.number, part.name, *part.aliases)
        }
        lacking = [
            (entry.fault_code, part)
            for entry in session.scalars(select(ManualEntry).order_by(ManualEntry.id))
            for part in entry.parts
            if comparable(part) not in known
        ]
    assert lacking == [("S202", "供钉直轨"), ("R311", "Oven transport chain")]


def test_some_parts_of_the_sample_are_out_and_some_below_their_minimum(database: Database) -> None:
    load(database, None, ZONE, NOW)
    with database.reading() as session:
        parts = list(session.scalars(select(SparePart)))
    assert sum(part.quantity == 0 for part in parts) >= 3
    assert sum(0 < part.quantity < part.minimum for part in parts) >= 2
    assert sum(part.quantity >= part.minimum for part in parts) >= 15


def test_the_samples_roster_covers_the_day_of_loading_but_for_its_holes(database: Database) -> None:
    load(database, None, ZONE, NOW)
    with database.reading() as session:
        entries = list(session.scalars(select(RosterEntry).where(RosterEntry.shift_date == date(2026, 8, 4))))
    shifts = {
        line: {(e.starts, e.ends) for e in entries if e.line_name == line}
        for e in entries
        for line in [e.line_name]
    }
    day, night = (time(8), time(20)), (time(20), time(8))
    assert shifts == {
        "交互屏组装B线": {day, night},
        "整机老化C线": {day, night},
        "SMT Line 1": {day, night},
        "Packing Line 2": {day},
    }
    assert len({entry.person for entry in entries}) >= 6


def test_the_simulator_raises_alarms_on_the_very_lines_and_machines_of_the_sample(database: Database) -> None:
    load(database, None, ZONE, NOW)
    with database.reading() as session:
        columns = (Equipment.line_name, Equipment.name, Equipment.equipment_class)
        known = {tuple(row) for row in session.execute(select(*columns))}
    assert known == {
        (line.name, machine.name, machine.equipment_class) for line in LINES for machine in line.machines
    }


def test_the_manual_has_the_simulators_faults_but_for_three(database: Database) -> None:
    load(database, None, ZONE, NOW)
    with database.reading() as session:
        columns = (ManualEntry.equipment_class, ManualEntry.fault_code, ManualEntry.title)
        manual = {(kind, code): title for kind, code, title in session.execute(select(*columns))}
    faults = {(kind, fault.code): fault.message for kind, faults in CODES.items() for fault in faults}
    assert faults.keys() - manual.keys() == NOT_IN_THE_MANUAL
    assert manual.items() <= faults.items()
