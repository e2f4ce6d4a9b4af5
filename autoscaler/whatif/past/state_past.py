"""The past that the daemon recorded: exactly what it observed, remembered and decided."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from autoscaler.record import Archive
from autoscaler.whatif.past.past import STATE, Cycle, Finding
from autoscaler.whatif.past.watch import Watch


class StatePast:
    """Implements `Past` from the state. Reading does not disturb a running daemon. Raises StateError."""

    origin = STATE

    def __init__(self, archive: Archive, name: str, since: datetime, until: datetime) -> None:
        """Cycles from `since` to `until`, both included, as far as the state has detail (`state.detail`)."""
        self.name = name
        self._archive, self._since, self._until = archive, since, until
        self._watch = Watch(since)

    @property
    def findings(self) -> Sequence[Finding]:
        """Gaps and outages of the last reading."""
        return self._watch.findings

    def cycles(self) -> Iterator[Cycle]:
        """In the order in which they were committed, with one block of the state in memory."""
        watch = self._watch = Watch(self._since)
        for record in self._archive.records(self.name, self._since, self._until):
            if record.observation is None:
                continue
            cycle = Cycle(record.decision.now, record.observation, record.decision, record.history, record.scaler)
            watch.see(cycle)
            yield cycle
        watch.end(self._until)
