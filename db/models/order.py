"""A work order, the steps that led to it, its parts, and the history of its status."""

from datetime import date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from db.models.base import Base, BigId, checked

if TYPE_CHECKING:
    from db.models.follow_up import FollowUp


class OrderStatus(StrEnum):
    """The states of a job order (ISA-95 part 4, job order states)."""

    WAITING = "Waiting"
    READY = "Ready"
    DISPATCHED = "Dispatched"
    RUNNING = "Running"
    HELD = "Held"
    COMPLETED = "Completed"
    CANCELLED = "Cancelled"
    CLOSED = "Closed"


ENDED = (OrderStatus.COMPLETED, OrderStatus.CANCELLED, OrderStatus.CLOSED)
"""Nobody works at such an order any more: a fault that comes back wants a new one."""


class StepName(StrEnum):
    """The four steps, in the order of the procedure; each is the name of its tool."""

    SEARCH_MANUAL = "search_manual"
    QUERY_SHIFT = "query_shift"
    QUERY_SPARE_PARTS = "query_spare_parts"
    GENERATE_WORK_ORDER = "generate_work_order"


class StepStatus(StrEnum):
    """What a tool can answer; closed, constructed, never inferred."""

    SUCCESS = "success"
    NOT_FOUND = "not_found"
    INVALID = "invalid"
    UNAVAILABLE = "unavailable"


RUNBOOK = "runbook"
"""The planner of an order that no model planned, or none to its end."""


class WorkOrder(Base):
    __tablename__ = "work_order"
    __table_args__ = (UniqueConstraint("plant_date", "sequence"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    order_id: Mapped[str] = mapped_column(String(32), unique=True)  # WO-YYYYMMDD-NNNN
    plant_date: Mapped[date]
    sequence: Mapped[int]
    event_id: Mapped[str] = mapped_column(String(200), index=True)  # of the alarm that opened it
    source: Mapped[str] = mapped_column(String(200))
    line_name: Mapped[str] = mapped_column(String(200), index=True)
    equipment: Mapped[str] = mapped_column(String(200))
    fault_code: Mapped[str] = mapped_column(String(100))  # normalised
    native_code: Mapped[str] = mapped_column(String(100))  # as the sender has it
    severity: Mapped[int]
    priority: Mapped[int]
    status: Mapped[OrderStatus] = mapped_column(checked(OrderStatus), index=True)
    diagnosis: Mapped[str]
    actions: Mapped[list[str]]
    causes: Mapped[list[str]]
    safety: Mapped[list[str]]
    assignee: Mapped[str | None] = mapped_column(String(200))
    shift: Mapped[dict[str, Any] | None]  # {"at_order": [duty, …], "at_alarm": the same, or null when alike}
    planner: Mapped[str] = mapped_column(String(200), index=True)
    handover_reason: Mapped[str | None] = mapped_column(String(200))
    model_calls: Mapped[int]
    input_tokens: Mapped[int]
    output_tokens: Mapped[int]
    occurred_at: Mapped[datetime]
    created_at: Mapped[datetime] = mapped_column(index=True)
    # [{"kind": order | line | code, "text": as it is written, "where": diagnosis | actions[n]}, …]
    diagnosis_flags: Mapped[list[Any]] = mapped_column(default=list)

    steps: Mapped[list["Step"]] = relationship(order_by="Step.position")
    parts: Mapped[list["WorkOrderPart"]] = relationship(order_by="WorkOrderPart.id")
    history: Mapped[list["StatusChange"]] = relationship(order_by="StatusChange.id")
    follow_ups: Mapped[list["FollowUp"]] = relationship(secondary="follow_up_order", order_by="FollowUp.id")


class Step(Base):
    """One of an order's four steps; `questions` holds each question that was asked in it."""

    __tablename__ = "step"
    __table_args__ = (UniqueConstraint("work_order_id", "step"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    work_order_id: Mapped[int] = mapped_column(ForeignKey("work_order.id"))
    position: Mapped[int]
    step: Mapped[StepName] = mapped_column(checked(StepName))
    status: Mapped[StepStatus] = mapped_column(checked(StepStatus))
    subject: Mapped[str]
    arguments: Mapped[dict[str, Any]]
    message: Mapped[str]
    calls: Mapped[int]
    suppressed_calls: Mapped[int]
    questions: Mapped[list[Any]]


class WorkOrderPart(Base):
    __tablename__ = "work_order_part"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    work_order_id: Mapped[int] = mapped_column(ForeignKey("work_order.id"), index=True)
    number: Mapped[str] = mapped_column(String(100))
    name: Mapped[str] = mapped_column(String(200))
    matched_as: Mapped[str] = mapped_column(String(200))
    score: Mapped[float]
    quantity: Mapped[int]
    unit: Mapped[str] = mapped_column(String(32))
    location: Mapped[str] = mapped_column(String(200))
    below_minimum: Mapped[bool]


class StatusChange(Base):
    """Who moved an order to which status, when and why; the first one is its creation."""

    __tablename__ = "status_change"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    work_order_id: Mapped[int] = mapped_column(ForeignKey("work_order.id"), index=True)
    from_status: Mapped[OrderStatus | None] = mapped_column(checked(OrderStatus, "from_status"))
    to_status: Mapped[OrderStatus] = mapped_column(checked(OrderStatus, "to_status"))
    changed_by: Mapped[str] = mapped_column(String(200))
    note: Mapped[str]
    changed_at: Mapped[datetime]


class OrderCounter(Base):
    """The last order number given out on each plant date."""

    __tablename__ = "order_counter"

    plant_date: Mapped[date] = mapped_column(primary_key=True)
    last: Mapped[int]
