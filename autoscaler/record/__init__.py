"""The durable state: what autoscalers remember, and the history of every decision with its reasons."""

from autoscaler.record.archive import Archive
from autoscaler.record.entries import target_text
from autoscaler.record.folder import make_folder, state_folder
from autoscaler.record.housekeeping import Retention
from autoscaler.record.leases import LeaseOptions, Leases
from autoscaler.record.ledger import Ledger
from autoscaler.record.members import Followed, Member, Ownership
from autoscaler.record.series import SeriesRow
from autoscaler.record.state import State
from autoscaler.record.steering import SteeringEvent
from autoscaler.record.values import Cut, EventRow, Record, StateSize

__all__ = [
    "Archive",
    "Cut",
    "EventRow",
    "Followed",
    "LeaseOptions",
    "Leases",
    "Ledger",
    "Member",
    "Ownership",
    "Record",
    "Retention",
    "SeriesRow",
    "State",
    "StateSize",
    "SteeringEvent",
    "make_folder",
    "state_folder",
    "target_text",
]
