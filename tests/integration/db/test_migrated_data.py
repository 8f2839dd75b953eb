"""What stands in a database of an earlier version stands in it after the upgrade."""

from alembic import command
from sqlalchemy import DateTime, MetaData, Table, select

from db import migrate
from db.models import WorkOrder
from db.session import Database
from tests.helpers.support import NOW


def test_an_order_made_before_there_were_flags_has_none(database: Database) -> None:
    command.downgrade(migrate.config(database), "0002")
    words = {"order_id": "WO-20260804-0001", "status": "Waiting", "planner": "a model", "diagnosis": "诊断"}
    numbers = {"id": 7, "sequence": 1, "severity": 1, "priority": 4, "model_calls": 1}
    with database.writing() as session:
        table = Table("work_order", MetaData(), autoload_with=session.connection())
        blank = {
            column.name: NOW if isinstance(column.type, DateTime) else "0"
            for column in table.columns
            if not column.nullable
        }
        lists: dict[str, list[str]] = {name: [] for name in ("actions", "causes", "safety")}
        row = blank | words | numbers | lists | {"plant_date": NOW.date()}
        session.execute(table.insert().values(row | {"input_tokens": 0, "output_tokens": 0}))
    migrate.upgrade(database)
    with database.reading() as session:
        order = session.scalars(select(WorkOrder)).one()
        assert (order.order_id, order.diagnosis, order.diagnosis_flags) == ("WO-20260804-0001", "诊断", [])
