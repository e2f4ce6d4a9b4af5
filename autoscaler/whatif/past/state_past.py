"""The past as the daemon recorded it: exactly what was seen, remembered and decided."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from autoscaler.record import Archive
from autoscaler.whatif.past.past import STATE, Finding, Moment
from autoscaler.whatif.past.watch import Watch

_PERIOD: Final = timedelta(seconds=15)
"""Where no cycle tells it: the controller's default."""


class StatePast:
    """One autoscaler's recorded cycles. Reading them does not disturb a running daemon. Raises StateError."""

    def __init__(self, archive: Archive, name: str, since: datetime, until: datetime) -> None:
        """Cycles from `since` to `until`, both included, as far as the state has their detail (`state.detail`)."""
        self._archive: Final = archive
        self._name: Final = name
        self._since: Final = since
        self._until: Final = until
        self._watch = Watch(since, _PERIOD)

    @property
    def name(self) -> str:
        """The autoscaler's."""
        return self._name

    @property
    def origin(self) -> str:
        """STATE."""
        return STATE

    @property
    def findings(self) -> Sequence[Finding]:
        """Gaps and outages of what was read last, in order of time."""
        return self._watch.findings

    def moments(self) -> Iterator[Moment]:
        """In the order in which they were committed. A block at a time is held in memory."""
        watch = self._watch = Watch(self._since, _PERIOD)
        for record in self._archive.records(self._name, self._since, self._until):
            if record.observation is None:
                continue
            moment = Moment(record.decision.now, record.observation, record.decision, record.history, record.scaler)
            watch.see(moment)
            yield moment
        watch.end(self._until)
