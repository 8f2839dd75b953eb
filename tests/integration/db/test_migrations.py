"""The migrations make the tables that the models speak of, whoever runs them and however often."""

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Engine, MetaData, create_engine, inspect, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from db import migrate
from db.errors import SchemaError
from db.models import Base, FollowUp, SparePart
from db.models.follow_up import FollowUpKind, FollowUpStatus
from db.session import Database
from tests.helpers.servers import PostgresServer

ROOT = Path(__file__).parents[3]
NOW = datetime(2026, 8, 4, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database without a table."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'new' / 'andon.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    server.create("empty")
    yield server.url("empty")
    server.drop("empty")


@pytest.fixture
def empty(empty_url: str) -> Iterator[Database]:
    database = Database(empty_url)
    yield database
    database.close()


def test_alembic_finds_nothing_that_the_models_have_and_the_migrations_lack(database: Database) -> None:
    command.check(migrate.config(database))


def test_alembic_finds_a_column_that_a_model_has_and_the_migrations_lack(database: Database) -> None:
    with database.writing() as session:
        session.execute(text("ALTER TABLE spare_part DROP COLUMN minimum"))
    with pytest.raises(Exception, match="minimum"):
        command.check(migrate.config(database))


def test_the_migrated_tables_are_those_that_the_models_would_make(empty: Database) -> None:
    migrate.upgrade(empty)
    migrated = _shape(empty.engine)
    command.downgrade(migrate.config(empty), "base")
    Base.metadata.create_all(empty.engine)
    made = _shape(empty.engine)
    assert set(made) == set(Base.metadata.tables)
    assert migrated == made


def test_up_down_and_up_again(empty: Database) -> None:
    assert migrate.current(empty) is None
    migrate.upgrade(empty)
    assert migrate.current(empty) == migrate.head(empty)
    first = _shape(empty.engine)
    command.downgrade(migrate.config(empty), "base")
    assert migrate.current(empty) is None
    assert _shape(empty.engine) == {}
    migrate.upgrade(empty)
    assert _shape(empty.engine) == first


def test_an_upgrade_of_a_database_at_head_changes_nothing(database: Database) -> None:
    with database.writing() as session:
        session.add(_part("SP-1"))
    migrate.upgrade(database)
    with database.reading() as session:
        assert session.query(SparePart).count() == 1


def test_an_upgrade_that_fails_leaves_nothing_behind_and_says_why(empty: Database) -> None:
    with empty.writing() as session:
        session.execute(text("CREATE TABLE spare_part (something INTEGER)"))
    with pytest.raises(SchemaError, match=r"spare_part.*DATABASE_URL"):
        migrate.upgrade(empty)
    assert inspect(empty.engine).get_table_names() == ["spare_part"]


def test_processes_that_upgrade_at_once_do_not_hinder_each_other(empty_url: str, empty: Database) -> None:
    program = (
        "import sys; from db import migrate; from db.session import Database\n"
        "database = Database(sys.argv[1]); migrate.upgrade(database); migrate.require_head(database)"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, empty_url], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    said = [process.communicate(timeout=60)[1] for process in running]
    assert [process.returncode for process in running] == [0] * 4, said
    migrate.require_head(empty)


def test_a_database_without_tables_is_refused_with_the_command_to_run(empty: Database) -> None:
    with pytest.raises(SchemaError, match="no tables yet; run `alarm-db upgrade`"):
        migrate.require_head(empty)


def test_a_database_behind_head_is_refused_with_the_command_to_run(empty: Database) -> None:
    command.upgrade(migrate.config(empty), "0001")
    with pytest.raises(SchemaError, match=r"revision 0001.*run `alarm-db upgrade`"):
        migrate.require_head(empty)


def test_a_database_of_a_newer_version_is_neither_used_nor_changed(database: Database) -> None:
    with database.writing() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(SchemaError, match=r"revision 9999.*newer version"):
        migrate.require_head(database)
    with pytest.raises(SchemaError, match=r"revision 9999.*newer version"):
        migrate.upgrade(database)
    assert migrate.current(database) == "9999"


def test_only_one_follow_up_of_a_subject_can_be_open(database: Database) -> None:
    with database.writing() as session:
        session.add_all([_follow_up(FollowUpStatus.RESOLVED), _follow_up(FollowUpStatus.OPEN)])
    with database.writing() as session:
        session.add(_follow_up(FollowUpStatus.DISMISSED))
    with pytest.raises(IntegrityError), database.writing() as session:
        session.add(_follow_up(FollowUpStatus.OPEN))


def test_a_word_outside_the_vocabulary_is_refused_by_the_database(database: Database) -> None:
    with database.writing() as session:
        session.add(_follow_up(FollowUpStatus.OPEN))
    with pytest.raises(DBAPIError, match="ck_follow_up_followupstatus"), database.writing() as session:
        session.execute(text("UPDATE follow_up SET status = 'lost'"))


def test_foreign_keys_hold_on_the_connection_that_migrated(empty: Database) -> None:
    migrate.upgrade(empty)
    with pytest.raises(IntegrityError), empty.writing() as session:
        session.execute(text("INSERT INTO follow_up_order (follow_up_id, work_order_id) VALUES (1, 1)"))


def test_alembics_own_command_line_migrates_the_database_of_the_settings(
    empty_url: str, empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", empty_url)
    settings = migrate.config(empty)
    settings.attributes.clear()
    command.upgrade(settings, "head")
    migrate.require_head(empty)


def test_an_installed_wheel_brings_its_migrations_and_its_sample_plant(
    empty_url: str, tmp_path: Path
) -> None:
    building = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    built = subprocess.run(
        [*building, "--wheel-dir", str(tmp_path), str(ROOT)], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("andon-*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    program = (
        "import sys, db; from pathlib import Path\n"
        "from db import migrate, plant; from db.session import Database\n"
        "assert Path(db.__file__).is_relative_to(sys.argv[1]), db.__file__\n"
        "database = Database(sys.argv[2]); migrate.upgrade(database); migrate.require_head(database)\n"
        "print(plant.load(database, None)['spare_part'])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(installed), empty_url],
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "30"


def _shape(engine: Engine) -> dict[str, Any]:
    """All that a database says of its tables, in an order that does not depend on how they were made."""
    fresh = create_engine(engine.url)  # one that has cached nothing
    try:
        found = MetaData()
        found.reflect(fresh)
        look = inspect(fresh)
        return {
            name: {
                "columns": [(c["name"], str(c["type"]), c["nullable"]) for c in look.get_columns(name)],
                "key": look.get_pk_constraint(name),
                "unique": _sorted(look.get_unique_constraints(name)),
                "indexes": _sorted(look.get_indexes(name)),
                "foreign keys": _sorted(look.get_foreign_keys(name)),
                "checks": _sorted(look.get_check_constraints(name)),
            }
            for name in found.tables
            if name != "alembic_version"
        }
    finally:
        fresh.dispose()


def _sorted(facts: list[Any]) -> list[str]:
    return sorted(_plain(fact) for fact in facts)


def _plain(fact: Any) -> str:
    if isinstance(fact, dict):
        return repr({key: _plain(fact[key]) for key in sorted(fact)})
    return str(fact)


def _part(number: str) -> SparePart:
    return SparePart(
        number=number, name="触摸屏", aliases=[], quantity=0, unit="台", location="A-01", minimum=1
    )


def _follow_up(status: FollowUpStatus) -> FollowUp:
    return FollowUp(
        kind=FollowUpKind.MISSING,
        step="query_shift",
        subject="交互屏组装A线",
        subject_key="交互屏组装a线",
        status=status,
        owner="王建国",
        reason="没有排班",
        opened_at=NOW,
    )
