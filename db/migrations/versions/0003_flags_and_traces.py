"""What a model's words name that is not the alarm's, and the account of each run."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | Sequence[str] | None = "0002"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column(
        "work_order",
        sa.Column("diagnosis_flags", sa.JSON(), server_default=sa.text("'[]'"), nullable=False),
    )
    with op.batch_alter_table("work_order") as work_order:  # the default was for the orders that are there
        work_order.alter_column("diagnosis_flags", server_default=None)
    op.add_column("agent_run", sa.Column("trace", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("agent_run", "trace")
    op.drop_column("work_order", "diagnosis_flags")
