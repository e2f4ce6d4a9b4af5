"""The past that the daemon recorded: exactly what it observed, remembered and decided."""

from collections.abc import Iterator
from datetime import datetime

from autoscaler.record.archive import Archive
from autoscaler.whatif.past.past import STATE, Cycle, Finding


class StatePast:
    """Implements `Past` from the state. Reading does not disturb a running daemon. Raises StateError."""

    origin, recorded = STATE, True
    findings: tuple[Finding, ...] = ()

    def __init__(self, archive: Archive, name: str, since: datetime, until: datetime) -> None:
        """Cycles from `since` to `until`, both included, as far as the state has detail (`state.detail`)."""
        self.name = name
        self._archive, self._since, self._until = archive, since, until

    def cycles(self) -> Iterator[Cycle]:
        """In the order in which they were committed, with one block of the state in memory."""
        for each in self._archive.records(self.name, self._since, self._until):
            if each.observation is not None:
                yield Cycle(each.decision.now, each.observation, each.scaler, each.decision, each.history, each.version)
