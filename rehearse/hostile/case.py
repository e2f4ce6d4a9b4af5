"""A bad day: its events, and the expectations of all except the cause."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rehearse.hostile.log import Stretch
from rehearse.hostile.measure import Meter
from rehearse.hostile.prometheus import Prometheus

if TYPE_CHECKING:
    from rehearse.hostile.world import World

_POLL_SECONDS: Final = 0.1


class Ended(Exception):
    """The daemon has ended on this day."""


@dataclass
class Day:
    """One day in the world, driven by its case."""

    world: "World"
    meter: Meter
    problems: list[str] = field(default_factory=list)

    @property
    def hostile(self) -> Prometheus:
        """The server of the bad autoscalers' metrics."""
        return self.world.hostile

    @property
    def log(self) -> Stretch:
        """The log of the day so far."""
        return self.meter.read_log()

    def odd(self, **targets: str) -> None:
        """Make the adapter's answers for exactly these targets odd from now on."""
        self.world.make_odd(targets)

    def lasts(self, moves: int | None = None) -> None:
        """Continue until the good autoscaler's load has changed so often on this day; None: for the whole day."""
        least = self.world.moves if moves is None else moves
        self.until(
            lambda: len(self.world.load.moves(self.meter.began)) >= least,
            (least + 2) * self.world.load.patience_seconds,
            "the load did not move",
        )

    def expect(self, holds: bool, problem: str) -> None:
        """Note the problem unless it holds."""
        if not holds:
            self.problems.append(problem)

    def until(self, holds: Callable[[], bool], seconds: float, problem: str) -> bool:
        """Wait for the condition. Notes the problem if it does not hold within so many seconds."""
        end = time.monotonic() + seconds
        while not holds():
            if not self.world.daemon.alive:
                raise Ended
            if time.monotonic() > end:
                self.problems.append(problem)
                return False
            time.sleep(_POLL_SECONDS)
        return True


@dataclass(frozen=True)
class Case:
    """A row of the table."""

    name: str
    happens: Callable[[Day], None]
    short: bool = False
    """Whether it is part of the short form."""
    guarded: bool = False
    """Whether it needs the daemon with TLS and users."""
    note: str = ""
    """Its peculiarity: "a daemon of its own ends"."""
