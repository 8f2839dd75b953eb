"""Alarms, the attempts at them, work orders and follow-ups."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0001"
down_revision: str | Sequence[str] | None = None
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

STEPS = ("search_manual", "query_shift", "query_spare_parts", "generate_work_order")
ORDER_STATUSES = ("Waiting", "Ready", "Dispatched", "Running", "Held", "Completed", "Cancelled", "Closed")

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _word(column: str, constraint: str, *words: str, nullable: bool = False) -> sa.Column[str]:
    """Text that a CHECK constraint, named as the models name it, holds to the words."""
    kind = sa.Enum(*words, native_enum=False, create_constraint=True, length=32, name=op.f(constraint))
    return sa.Column(column, kind, nullable=nullable)


def upgrade() -> None:
    op.create_table(
        "follow_up",
        sa.Column("id", ID, nullable=False),
        _word("kind", "ck_follow_up_followupkind", "missing", "ambiguous", "source_down"),
        _word("step", "ck_follow_up_stepname", *STEPS),
        sa.Column("subject", sa.String(300), nullable=False),
        sa.Column("subject_key", sa.String(300), nullable=False),
        _word("status", "ck_follow_up_followupstatus", "open", "resolved", "dismissed"),
        sa.Column("owner", sa.String(200), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("closed_by", sa.String(200), nullable=True),
        sa.Column("note", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_follow_up")),
    )
    op.create_index(op.f("ix_follow_up_status"), "follow_up", ["status"])
    op.create_index(
        op.f("uq_follow_up_open"),
        "follow_up",
        ["kind", "step", "subject_key"],
        unique=True,
        sqlite_where=sa.text("status = 'open'"),
        postgresql_where=sa.text("status = 'open'"),
    )
    op.create_table(
        "order_counter",
        sa.Column("plant_date", sa.Date(), nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("plant_date", name=op.f("pk_order_counter")),
    )
    op.create_table(
        "rejected_alarm",
        sa.Column("id", ID, nullable=False),
        sa.Column("entry_id", sa.String(64), nullable=False),
        sa.Column("raw", sa.LargeBinary(), nullable=False),
        sa.Column("raw_bytes", sa.Integer(), nullable=False),
        sa.Column("raw_digest", sa.String(64), nullable=False),
        _word(
            "reason",
            "ck_rejected_alarm_rejectreason",
            "no_event_field",
            "too_large",
            "not_utf8",
            "not_json",
            "invalid",
            "id_reused",
        ),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rejected_alarm")),
        sa.UniqueConstraint("entry_id", "raw_digest", name=op.f("uq_rejected_alarm_entry_id_raw_digest")),
    )
    op.create_table(
        "work_order",
        sa.Column("id", ID, nullable=False),
        sa.Column("order_id", sa.String(32), nullable=False),
        sa.Column("plant_date", sa.Date(), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("event_id", sa.String(200), nullable=False),
        sa.Column("source", sa.String(200), nullable=False),
        sa.Column("line_name", sa.String(200), nullable=False),
        sa.Column("equipment", sa.String(200), nullable=False),
        sa.Column("fault_code", sa.String(100), nullable=False),
        sa.Column("native_code", sa.String(100), nullable=False),
        sa.Column("severity", sa.Integer(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        _word("status", "ck_work_order_orderstatus", *ORDER_STATUSES),
        sa.Column("diagnosis", sa.String(), nullable=False),
        sa.Column("actions", sa.JSON(), nullable=False),
        sa.Column("causes", sa.JSON(), nullable=False),
        sa.Column("safety", sa.JSON(), nullable=False),
        sa.Column("assignee", sa.String(200), nullable=True),
        sa.Column("shift", sa.JSON(), nullable=True),
        sa.Column("planner", sa.String(200), nullable=False),
        sa.Column("handover_reason", sa.String(200), nullable=True),
        sa.Column("model_calls", sa.Integer(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_work_order")),
        sa.UniqueConstraint("order_id", name=op.f("uq_work_order_order_id")),
        sa.UniqueConstraint("plant_date", "sequence", name=op.f("uq_work_order_plant_date_sequence")),
    )
    op.create_index(op.f("ix_work_order_created_at"), "work_order", ["created_at"])
    op.create_index(op.f("ix_work_order_event_id"), "work_order", ["event_id"])
    op.create_index(op.f("ix_work_order_line_name"), "work_order", ["line_name"])
    op.create_index(op.f("ix_work_order_planner"), "work_order", ["planner"])
    op.create_index(op.f("ix_work_order_status"), "work_order", ["status"])
    op.create_table(
        "alarm",
        sa.Column("id", ID, nullable=False),
        sa.Column("source", sa.String(200), nullable=False),
        sa.Column("event_id", sa.String(200), nullable=False),
        sa.Column("content_digest", sa.String(64), nullable=False),
        sa.Column("line_name", sa.String(200), nullable=False),
        sa.Column("equipment", sa.String(200), nullable=False),
        sa.Column("equipment_class", sa.String(200), nullable=False),
        sa.Column("fault_code", sa.String(100), nullable=False),
        sa.Column("code_key", sa.String(100), nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("severity", sa.Integer(), nullable=False),
        _word("state", "ck_alarm_alarmstate", "active", "cleared"),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attributes", sa.JSON(), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        _word("status", "ck_alarm_alarmstatus", "waiting", "dispatched", "running", "settled", "stored"),
        sa.Column("next_attempt_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("dispatched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("lease_owner", sa.String(200), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("work_order_id", ID, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alarm")),
        sa.ForeignKeyConstraint(["work_order_id"], ["work_order.id"], name=op.f("fk_alarm_work_order_id")),
        sa.UniqueConstraint("source", "event_id", name=op.f("uq_alarm_source_event_id")),
    )
    op.create_index(op.f("ix_alarm_event_id"), "alarm", ["event_id"])
    op.create_index(op.f("ix_alarm_fingerprint"), "alarm", ["fingerprint"])
    op.create_index(op.f("ix_alarm_line_name"), "alarm", ["line_name"])
    op.create_index(
        op.f("ix_alarm_open"),
        "alarm",
        ["status", "severity", "id"],
        sqlite_where=sa.text("status in ('waiting', 'dispatched', 'running')"),
        postgresql_where=sa.text("status in ('waiting', 'dispatched', 'running')"),
    )
    op.create_index(op.f("ix_alarm_work_order_id"), "alarm", ["work_order_id"])
    op.create_table(
        "follow_up_order",
        sa.Column("follow_up_id", ID, nullable=False),
        sa.Column("work_order_id", ID, nullable=False),
        sa.PrimaryKeyConstraint("follow_up_id", "work_order_id", name=op.f("pk_follow_up_order")),
        sa.ForeignKeyConstraint(
            ["follow_up_id"], ["follow_up.id"], name=op.f("fk_follow_up_order_follow_up_id")
        ),
        sa.ForeignKeyConstraint(
            ["work_order_id"], ["work_order.id"], name=op.f("fk_follow_up_order_work_order_id")
        ),
    )
    op.create_index(op.f("ix_follow_up_order_work_order_id"), "follow_up_order", ["work_order_id"])
    op.create_table(
        "status_change",
        sa.Column("id", ID, nullable=False),
        sa.Column("work_order_id", ID, nullable=False),
        _word("from_status", "ck_status_change_from_status", *ORDER_STATUSES, nullable=True),
        _word("to_status", "ck_status_change_to_status", *ORDER_STATUSES),
        sa.Column("changed_by", sa.String(200), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_status_change")),
        sa.ForeignKeyConstraint(
            ["work_order_id"], ["work_order.id"], name=op.f("fk_status_change_work_order_id")
        ),
    )
    op.create_index(op.f("ix_status_change_work_order_id"), "status_change", ["work_order_id"])
    op.create_table(
        "step",
        sa.Column("id", ID, nullable=False),
        sa.Column("work_order_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        _word("step", "ck_step_stepname", *STEPS),
        _word("status", "ck_step_stepstatus", "success", "not_found", "invalid", "unavailable"),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("arguments", sa.JSON(), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("suppressed_calls", sa.Integer(), nullable=False),
        sa.Column("questions", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_step")),
        sa.ForeignKeyConstraint(["work_order_id"], ["work_order.id"], name=op.f("fk_step_work_order_id")),
        sa.UniqueConstraint("work_order_id", "step", name=op.f("uq_step_work_order_id_step")),
    )
    op.create_table(
        "work_order_part",
        sa.Column("id", ID, nullable=False),
        sa.Column("work_order_id", ID, nullable=False),
        sa.Column("number", sa.String(100), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("matched_as", sa.String(200), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("quantity", sa.Integer(), nullable=False),
        sa.Column("unit", sa.String(32), nullable=False),
        sa.Column("location", sa.String(200), nullable=False),
        sa.Column("below_minimum", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_work_order_part")),
        sa.ForeignKeyConstraint(
            ["work_order_id"], ["work_order.id"], name=op.f("fk_work_order_part_work_order_id")
        ),
    )
    op.create_index(op.f("ix_work_order_part_work_order_id"), "work_order_part", ["work_order_id"])
    op.create_table(
        "agent_run",
        sa.Column("id", ID, nullable=False),
        sa.Column("alarm_id", ID, nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(200), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        _word("outcome", "ck_agent_run_runoutcome", "running", "settled", "failed", "given_back", "lapsed"),
        sa.Column("planner", sa.String(200), nullable=True),
        sa.Column("handover_reason", sa.String(200), nullable=True),
        sa.Column("model_calls", sa.Integer(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("error", sa.String(200), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent_run")),
        sa.ForeignKeyConstraint(["alarm_id"], ["alarm.id"], name=op.f("fk_agent_run_alarm_id")),
        sa.UniqueConstraint("alarm_id", "attempt", name=op.f("uq_agent_run_alarm_id_attempt")),
    )


def downgrade() -> None:
    op.drop_table("agent_run")
    op.drop_table("work_order_part")
    op.drop_table("step")
    op.drop_table("status_change")
    op.drop_table("follow_up_order")
    op.drop_table("alarm")
    op.drop_table("work_order")
    op.drop_table("rejected_alarm")
    op.drop_table("order_counter")
    op.drop_table("follow_up")
