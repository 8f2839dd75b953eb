"""What every table shares: names of constraints, the one time type, and checked words."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Enum, Integer, MetaData
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import TypeDecorator


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time, kept in UTC; SQLite, which keeps no zone, hands it back aware as well."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a time without a zone cannot be stored: {value.isoformat()}")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def checked(words: type[StrEnum], name: str | None = None) -> Enum:
    """Text that a CHECK constraint holds to the given words; portable, readable in any client. Where a table
    has the same words twice, each constraint wants a name of its own."""
    return Enum(
        words,
        native_enum=False,
        create_constraint=True,
        length=32,
        name=name or words.__name__.lower(),
        values_callable=lambda members: [member.value for member in members],
    )


BigId = BigInteger().with_variant(Integer, "sqlite")
"""SQLite counts a key up by itself only when it is an INTEGER."""


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {datetime: UtcDateTime, dict[str, Any]: JSON, list[Any]: JSON, list[str]: JSON}  # noqa: RUF012
