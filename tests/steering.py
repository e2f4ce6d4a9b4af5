"""Sets pauses and overrides in the state directly."""

from datetime import UTC, datetime

from autoscaler.model import ManualControls
from autoscaler.record.database import Database
from autoscaler.record.state import State
from autoscaler.record.steering import change_steering


def steer(state: State | Database, name: str, steering: ManualControls) -> None:
    """Replace an autoscaler's steering, without an event. With a Database, as another process does it."""
    database = state._database if isinstance(state, State) else state
    change_steering(database, lambda _known: {name: steering}, lambda _before, _after: None, datetime.now(UTC))
