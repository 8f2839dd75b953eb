"""The tables, one module a subject."""

from db.models.alarm import AgentRun, Alarm, RejectedAlarm
from db.models.base import Base
from db.models.follow_up import FollowUp, follow_up_order
from db.models.order import OrderCounter, StatusChange, Step, WorkOrder, WorkOrderPart
from db.models.plant import Equipment, ManualEntry, RosterEntry, SparePart
from db.models.probe import Probe
from db.models.standing import Flood, Shelving, StandingAlarm

__all__ = [
    "AgentRun",
    "Alarm",
    "Base",
    "Equipment",
    "Flood",
    "FollowUp",
    "ManualEntry",
    "OrderCounter",
    "Probe",
    "RejectedAlarm",
    "RosterEntry",
    "Shelving",
    "SparePart",
    "StandingAlarm",
    "StatusChange",
    "Step",
    "WorkOrder",
    "WorkOrderPart",
    "follow_up_order",
]
