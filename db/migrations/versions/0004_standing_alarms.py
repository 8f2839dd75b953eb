"""Standing alarms, floods, shelving, probes; alarms that are part of another one's order, and poison ones.

Columns that an older worker does not write may be null or have a default: it runs on beside newer ones.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from db.codes import comparable

revision: str = "0004"
down_revision: str | Sequence[str] | None = "0003"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)

ALARM_WORDS = ("waiting", "dispatched", "running", "settled", "stored")
NEW_ALARM_WORDS = ("waiting", "dispatched", "running", "poison", "settled", "attached", "shelved", "stored")
REASONS = ("no_event_field", "too_large", "not_utf8", "not_json", "invalid", "id_reused")

# The newest alarm of a fingerprint whose work is not ended holds it from now on.
HOLD = """
INSERT INTO standing_alarm (
    fingerprint, leader_id, status, line_key, line_name, equipment, fault_code, code_key,
    severity, occurrences, first_at, last_at, opened_at
)
SELECT fingerprint, id, 'open', line_name, line_name, equipment, fault_code, code_key,
       severity, 1, occurred_at, occurred_at, received_at
FROM alarm
WHERE id IN (
    SELECT max(alarm.id) FROM alarm LEFT JOIN work_order ON work_order.id = alarm.work_order_id
    WHERE alarm.status IN ('waiting', 'dispatched', 'running')
       OR (alarm.status = 'settled' AND work_order.status NOT IN ('Completed', 'Cancelled', 'Closed'))
    GROUP BY alarm.fingerprint
)
"""


def _words(constraint: str, *words: str) -> sa.Enum:
    return sa.Enum(*words, native_enum=False, create_constraint=True, length=32, name=op.f(constraint))


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def upgrade() -> None:
    _standing_alarm()
    _flood()
    _shelving()
    op.create_table(
        "probe",
        sa.Column("token", sa.String(64), nullable=False),
        sa.Column("received_at", TIME, nullable=False),
        sa.Column("dispatched_at", TIME, nullable=True),
        sa.Column("claimed_at", TIME, nullable=True),
        sa.Column("claimed_by", sa.String(200), nullable=True),
        sa.PrimaryKeyConstraint("token", name=op.f("pk_probe")),
    )
    _alarm(NEW_ALARM_WORDS, "status in ('waiting', 'dispatched', 'running', 'poison')")
    with op.batch_alter_table("alarm") as alarm:
        alarm.add_column(sa.Column("lease_seconds", sa.Double(), nullable=True))
        alarm.add_column(sa.Column("urgency", sa.Integer(), nullable=True))
        alarm.add_column(sa.Column("leader_id", ID, nullable=True))
        alarm.add_column(sa.Column("shelving_id", ID, nullable=True))
        alarm.create_foreign_key(op.f("fk_alarm_leader_id"), "alarm", ["leader_id"], ["id"])
        alarm.create_foreign_key(op.f("fk_alarm_shelving_id"), "shelving", ["shelving_id"], ["id"])
        alarm.create_index(op.f("ix_alarm_leader_id"), ["leader_id"])
        alarm.create_index(op.f("ix_alarm_shelving_id"), ["shelving_id"])
    _rejected(*REASONS, "not_a_task")
    with op.batch_alter_table("rejected_alarm") as rejected:
        status = _words("ck_rejected_alarm_rejectedstatus", "open", "retried", "dropped")
        rejected.add_column(sa.Column("status", status, server_default="open", nullable=False))
        rejected.add_column(sa.Column("closed_at", TIME, nullable=True))
        rejected.add_column(sa.Column("closed_by", sa.String(200), nullable=True))
        rejected.create_index(op.f("ix_rejected_alarm_status"), ["status"])
    op.execute(HOLD)
    _compare_lines()


def downgrade() -> None:
    """What only this revision knows is lost: which alarms were occurrences, floods, shelvings."""
    op.execute("UPDATE alarm SET status = 'waiting' WHERE status = 'poison'")
    op.execute("UPDATE alarm SET status = 'stored' WHERE status IN ('attached', 'shelved')")
    op.execute("DELETE FROM rejected_alarm WHERE reason = 'not_a_task'")
    with op.batch_alter_table("rejected_alarm") as rejected:
        rejected.drop_index(op.f("ix_rejected_alarm_status"))
        rejected.drop_constraint(op.f("ck_rejected_alarm_rejectedstatus"), type_="check")
        for column in ("closed_by", "closed_at", "status"):
            rejected.drop_column(column)
    _rejected(*REASONS)
    with op.batch_alter_table("alarm") as alarm:
        alarm.drop_index(op.f("ix_alarm_shelving_id"))
        alarm.drop_index(op.f("ix_alarm_leader_id"))
        alarm.drop_constraint(op.f("fk_alarm_shelving_id"), type_="foreignkey")
        alarm.drop_constraint(op.f("fk_alarm_leader_id"), type_="foreignkey")
        for column in ("shelving_id", "leader_id", "urgency", "lease_seconds"):
            alarm.drop_column(column)
    _alarm(ALARM_WORDS, "status in ('waiting', 'dispatched', 'running')")
    for table in ("probe", "shelving", "flood", "standing_alarm"):
        op.drop_table(table)


def _compare_lines() -> None:
    """No SQL knows how names are compared; what is kept is what today's code will look for."""
    names = op.get_bind().scalars(sa.text("SELECT DISTINCT line_name FROM standing_alarm")).all()
    own = sa.text("UPDATE standing_alarm SET line_key = :key WHERE line_name = :name")
    for name in names:
        op.get_bind().execute(own, {"key": comparable(name), "name": name})


def _standing_alarm() -> None:
    op.create_table(
        "standing_alarm",
        sa.Column("id", ID, nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("leader_id", ID, nullable=False),
        sa.Column("status", _words("ck_standing_alarm_standingstatus", "open", "closed"), nullable=False),
        sa.Column("line_key", sa.String(200), nullable=False),
        sa.Column("line_name", sa.String(200), nullable=False),
        sa.Column("equipment", sa.String(200), nullable=False),
        sa.Column("fault_code", sa.String(100), nullable=False),
        sa.Column("code_key", sa.String(100), nullable=False),
        sa.Column("severity", sa.Integer(), nullable=False),
        sa.Column("occurrences", sa.Integer(), nullable=False),
        sa.Column("first_at", TIME, nullable=False),
        sa.Column("last_at", TIME, nullable=False),
        sa.Column("cleared_at", TIME, nullable=True),
        sa.Column("opened_at", TIME, nullable=False),
        sa.Column("closed_at", TIME, nullable=True),
        sa.Column("repeat_of", ID, nullable=True),
        sa.ForeignKeyConstraint(["leader_id"], ["alarm.id"], name=op.f("fk_standing_alarm_leader_id")),
        sa.ForeignKeyConstraint(["repeat_of"], ["work_order.id"], name=op.f("fk_standing_alarm_repeat_of")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_standing_alarm")),
    )
    unique = _where("status = 'open'")
    op.create_index(op.f("uq_standing_alarm_open"), "standing_alarm", ["fingerprint"], unique=True, **unique)
    op.create_index(op.f("ix_standing_alarm_leader_id"), "standing_alarm", ["leader_id"])
    op.create_index(op.f("ix_standing_alarm_line"), "standing_alarm", ["line_key", "first_at"])
    op.create_index(op.f("ix_standing_alarm_fingerprint"), "standing_alarm", ["fingerprint", "closed_at"])


def _flood() -> None:
    op.create_table(
        "flood",
        sa.Column("id", ID, nullable=False),
        sa.Column("line_key", sa.String(200), nullable=False),
        sa.Column("line_name", sa.String(200), nullable=False),
        sa.Column("leader_id", ID, nullable=False),
        sa.Column("first_out_id", ID, nullable=False),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("ended_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(["leader_id"], ["alarm.id"], name=op.f("fk_flood_leader_id")),
        sa.ForeignKeyConstraint(["first_out_id"], ["alarm.id"], name=op.f("fk_flood_first_out_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flood")),
    )
    op.create_index(op.f("ix_flood_leader_id"), "flood", ["leader_id"])
    op.create_index(op.f("uq_flood_open"), "flood", ["line_key"], unique=True, **_where("ended_at is null"))


def _shelving() -> None:
    op.create_table(
        "shelving",
        sa.Column("id", ID, nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("line_name", sa.String(200), nullable=False),
        sa.Column("equipment", sa.String(200), nullable=False),
        sa.Column("fault_code", sa.String(100), nullable=False),
        sa.Column("until", TIME, nullable=False),
        sa.Column("shelved_by", sa.String(200), nullable=False),
        sa.Column("why", sa.String(), nullable=False),
        sa.Column("shelved_at", TIME, nullable=False),
        sa.Column("ended_at", TIME, nullable=True),
        sa.Column("ended_by", sa.String(200), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shelving")),
    )
    unique = _where("ended_at is null")
    op.create_index(op.f("uq_shelving_open"), "shelving", ["fingerprint"], unique=True, **unique)


def _alarm(words: Sequence[str], still_open: str) -> None:
    """Hold the status to the words, and the index of open alarms to its condition."""
    with op.batch_alter_table("alarm") as alarm:
        alarm.drop_index(op.f("ix_alarm_open"))
        alarm.drop_constraint(op.f("ck_alarm_alarmstatus"), type_="check")
        alarm.create_check_constraint(op.f("ck_alarm_alarmstatus"), sa.column("status").in_(words))
        alarm.create_index(op.f("ix_alarm_open"), ["status", "severity", "id"], **_where(still_open))


def _rejected(*reasons: str) -> None:
    with op.batch_alter_table("rejected_alarm") as rejected:
        rejected.drop_constraint(op.f("ck_rejected_alarm_rejectreason"), type_="check")
        rejected.create_check_constraint(
            op.f("ck_rejected_alarm_rejectreason"), sa.column("reason").in_(reasons)
        )
