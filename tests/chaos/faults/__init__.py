"""The faults, one module a kind of victim, in the order of the table."""

from tests.chaos.faults.base import Fault
from tests.chaos.faults.broker import BrokerKill, Cut, Empty, Freeze
from tests.chaos.faults.database import DatabaseAway
from tests.chaos.faults.moments import Between
from tests.chaos.faults.producers import Flood, Thrice
from tests.chaos.faults.rubbish import Rubbish
from tests.chaos.faults.workers import Kill, Pause, Stop

ALL: tuple[type[Fault], ...] = (
    *(Kill, BrokerKill, Cut, Freeze, Between, Pause, Empty, DatabaseAway, Stop),
    *(Thrice, Rubbish, Flood),
)

__all__ = ["ALL", "Fault"]
