"""The durable state: what autoscalers remember, and the history of every decision with its reasons."""

from autoscaler.record.archive import Archive
from autoscaler.record.daemons import Daemons, Leader
from autoscaler.record.examine import examine_state
from autoscaler.record.folder import make_folder, state_folder
from autoscaler.record.housekeeping import Retention
from autoscaler.record.lease import Lease, LeaseOptions
from autoscaler.record.ledger import Ledger
from autoscaler.record.series import SeriesRow
from autoscaler.record.state import State
from autoscaler.record.steering import SteeringEvent
from autoscaler.record.targets import target_text
from autoscaler.record.values import Cut, EventRow, Record, StateSize

__all__ = [
    "Archive",
    "Cut",
    "Daemons",
    "EventRow",
    "Leader",
    "Lease",
    "LeaseOptions",
    "Ledger",
    "Record",
    "Retention",
    "SeriesRow",
    "State",
    "StateSize",
    "SteeringEvent",
    "examine_state",
    "make_folder",
    "state_folder",
    "target_text",
]
