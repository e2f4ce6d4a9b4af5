"""Autoscalers on a virtual clock whose cycles are recorded in a real state."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from autoscaler.config.settings import Settings
from autoscaler.model import (
    Autoscaler,
    Decision,
    Failure,
    History,
    Observed,
    Reading,
)
from autoscaler.record.archive import Archive
from autoscaler.record.housekeeping import Retention
from autoscaler.record.ledger import Ledger
from autoscaler.record.state import State
from autoscaler.view.reads import Reads
from tests.clocks import FakeClock
from tests.decide.build import NOW, Life, samples, value
from tests.record.empty import put_empty_state
from tests.replaced import replace


@contextmanager
def open_state(folder: Path) -> Iterator[State]:
    put_empty_state(folder)
    opened = State.open(None, folder, Retention())
    try:
        yield opened
    finally:
        opened.close()


class Recorded(Life):
    """Has cycles 15 s apart, which a ledger records."""

    def __init__(self, ledger: Ledger, autoscaler: Autoscaler, size: int = 3) -> None:
        """`ledger` is that of the connection of the target."""
        super().__init__(autoscaler, size)
        self.ledger = ledger

    def recall(self) -> History:
        return self.ledger.recall([self.autoscaler])[self.autoscaler.name]

    def keep(self, made: Decision) -> None:
        self.ledger.record({made.name: self.autoscaler}, Observed({made.name: self.observed}), [made])

    def step(self, *readings: Reading | Failure, after: float = 15, **given: Any) -> Decision:
        return super().step(*readings, after=after, **given)

    def cpu(self, percent: int, after: float = 15) -> Decision:
        """Run a cycle in which each instance uses this percentage of its request of one core."""
        at = self.now + timedelta(seconds=after)
        return self.step(samples([percent * 10] * self.size, at), after=after)

    def queue(self, length: int, after: float = 15) -> Decision:
        """Run a cycle in which an External metric has this value."""
        return self.step(value(length * 1000), after=after)


def named(autoscaler: Autoscaler, name: str) -> Autoscaler:
    """Return the autoscaler with this name, and with a target of that name."""
    return replace(autoscaler, name=name, target=replace(autoscaler.target, name=name))


def reads_of(archive: Archive, scalers: Sequence[Autoscaler] | None, now: datetime = NOW) -> Reads:
    """What can be read of a state. `scalers`: the configuration's; None: it is unknown."""
    settings = None if scalers is None else Settings(Path("autoscaler.yaml"), {}, {}, tuple(scalers))
    return Reads(archive, lambda: settings, FakeClock(now))
