"""The plant's own data: equipment, manual, roster and spare parts."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | Sequence[str] | None = "0001"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "equipment",
        sa.Column("id", ID, nullable=False),
        sa.Column("line_name", sa.String(200), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("equipment_class", sa.String(200), nullable=False),
        sa.Column("leader", sa.String(200), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_equipment")),
        sa.UniqueConstraint("line_name", "name", name=op.f("uq_equipment_line_name_name")),
    )
    op.create_index(op.f("ix_equipment_line_name"), "equipment", ["line_name"])
    op.create_table(
        "manual_entry",
        sa.Column("id", ID, nullable=False),
        sa.Column("fault_code", sa.String(100), nullable=False),
        sa.Column("code_key", sa.String(100), nullable=False),
        sa.Column("equipment_class", sa.String(200), nullable=False),
        sa.Column("title", sa.String(300), nullable=False),
        sa.Column("symptoms", sa.String(), nullable=False),
        sa.Column("causes", sa.JSON(), nullable=False),
        sa.Column("safety", sa.JSON(), nullable=False),
        sa.Column("steps", sa.JSON(), nullable=False),
        sa.Column("parts", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_manual_entry")),
        sa.UniqueConstraint(
            "code_key", "equipment_class", name=op.f("uq_manual_entry_code_key_equipment_class")
        ),
    )
    op.create_index(op.f("ix_manual_entry_code_key"), "manual_entry", ["code_key"])
    op.create_table(
        "roster_entry",
        sa.Column("id", ID, nullable=False),
        sa.Column("line_name", sa.String(200), nullable=False),
        sa.Column("shift_date", sa.Date(), nullable=False),
        sa.Column("shift_name", sa.String(100), nullable=False),
        sa.Column("starts", sa.Time(), nullable=False),
        sa.Column("ends", sa.Time(), nullable=False),
        sa.Column("person", sa.String(200), nullable=False),
        sa.Column("phone", sa.String(100), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_roster_entry")),
        sa.UniqueConstraint(
            "line_name",
            "shift_date",
            "shift_name",
            "person",
            name=op.f("uq_roster_entry_line_name_shift_date_shift_name_person"),
        ),
    )
    op.create_table(
        "spare_part",
        sa.Column("id", ID, nullable=False),
        sa.Column("number", sa.String(100), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("aliases", sa.JSON(), nullable=False),
        sa.Column("quantity", sa.Integer(), nullable=False),
        sa.Column("unit", sa.String(32), nullable=False),
        sa.Column("location", sa.String(200), nullable=False),
        sa.Column("minimum", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_spare_part")),
        sa.UniqueConstraint("number", name=op.f("uq_spare_part_number")),
    )


def downgrade() -> None:
    op.drop_table("spare_part")
    op.drop_table("roster_entry")
    op.drop_table("manual_entry")
    op.drop_table("equipment")
