"""One daemon, its two Prometheus servers, good and bad autoscalers, and a load that changes all the time."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import requests

from rehearse.hostile import adapter, daemon, prometheus
from rehearse.hostile.case import Case, Day, Ended
from rehearse.hostile.config import BAD, CALM, WINDOWED, WINDOWED_SIZE, write
from rehearse.hostile.daemon import OPEN, Access, Daemon
from rehearse.hostile.load import Load
from rehearse.hostile.measure import Bounds, Meter, largest_page
from rehearse.hostile.notes import Notes
from rehearse.hostile.prometheus import Prometheus
from rehearse.rehearsal import Row
from tests.daemon.running import end_workers
from tests.servers.files import replace_text
from tests.servers.stepped_clock import SteppedClock

_BEGINS_SECONDS: Final = 120.0


class World:
    """The surroundings of all cases. `endure` is called with one case after another."""

    def __init__(
        self,
        folder: Path,
        good: Prometheus,
        hostile: Prometheus,
        period_seconds: float,
        bounds: Bounds,
        moves: int = 2,
        access: Access = OPEN,
    ) -> None:
        """`moves`: changes of the good autoscaler's load in a day."""
        self.folder, self.good, self.hostile = folder, good, hostile
        self.period_seconds, self.bounds, self.moves = period_seconds, bounds, moves
        self.shared, self.crowd = Notes(folder / "notes-shared"), Notes(folder / "notes-crowd")
        self.load = Load(good, self.shared, period_seconds, bounds.followed_periods + 2)
        self.config, self.scalers = write(folder, good.url, hostile.url, period_seconds, access.web)
        self.clock = SteppedClock(folder)
        """The daemon's wall clock."""
        self.daemon: Daemon
        self._access = access
        self._env = adapter.install(folder)
        self._stack = ExitStack()

    def begin(self) -> None:
        """Start the daemon, and wait until every autoscaler has its size. Raises AssertionError."""
        self._heal()
        self.good.values[f"{WINDOWED}_load"] = WINDOWED_SIZE
        since = time.monotonic()
        env = self._env | self.clock.env
        self.daemon = self._stack.enter_context(daemon.running(self.config, self._access, env))
        day = Day(self, self._meter())

        def settled() -> bool:
            decided, sizes = day.log.decided, self.shared.sizes(WINDOWED, since)
            return sizes[-1:] == [WINDOWED_SIZE] and all(decided[name] for name in self.scalers)

        if not day.until(settled, _BEGINS_SECONDS, "not settled"):
            raise AssertionError(f"not every autoscaler is where it belongs: {dict(day.log.decided)}, {day.log.errors}")
        self.good.values[f"{WINDOWED}_load"] = 1  # from here on only its window of an hour holds it

    def end(self) -> None:
        """Stop everything that was started, workers included."""
        self._stack.close()
        for folder in (self.folder, *self.folder.iterdir()):  # a case may have its own daemon
            end_workers(folder)

    def endure(self, case: Case) -> Row:
        """Run and measure a bad day, and wait for the recovery after it."""
        meter = self._meter()
        day, page = Day(self, meter), 0
        try:
            case.happens(day)
            day.lasts()
            day.expect(not self.shared.sizes(WINDOWED, meter.began), "an autoscaler left its window of an hour")
            page = largest_page(self.daemon)
        except Ended:
            why = f"killed at {daemon.MAX_MEBIBYTES} MiB" if self.daemon.killed else "gone"
            day.problems.append(f"the daemon was {why}")
        except requests.RequestException as error:
            day.problems.append(f"the page does not answer ({type(error).__name__})")
        figures, problems = meter.figures(page)
        self._heal()
        if self.daemon.alive:
            self._see_it_heal(day)
        else:
            self._stack.close()
            self.begin()
        seen = f"{figures}; {case.note}" if case.note else str(figures)
        return Row(1, case.name, seen, [*problems, *day.problems])

    def make_odd(self, targets: Mapping[str, str]) -> None:
        """Make the adapter's answers for these targets odd from now on."""
        replace_text(self.folder / "odd.json", json.dumps(targets))

    def _see_it_heal(self, day: Day) -> None:
        healing, periods = self._meter(), self.bounds.heals_periods

        def missing() -> list[str]:
            return [name for name in BAD if not healing.read_log().decided[name]]

        if not Day(self, healing).until(lambda: not missing(), periods * self.period_seconds, ""):
            day.problems.append(f"{', '.join(missing())}: not healthy {periods:g} periods after the server was")

    def _heal(self) -> None:
        self.make_odd({})
        self.hostile.reply = prometheus.well
        self.hostile.values.update(CALM)
        self.good.values.update(CALM)

    def _meter(self) -> Meter:
        return Meter(self.daemon, self.shared, self.load, self.period_seconds, len(self.scalers), self.bounds)


@contextmanager
def world(folder: Path, period_seconds: float, bounds: Bounds, **more: Any) -> Iterator[World]:
    """Run a world whose daemon runs. `more`: arguments of World."""
    with prometheus.running() as good, prometheus.running() as hostile:
        found = World(folder, good, hostile, period_seconds, bounds, **more)
        found.load.start()
        try:
            found.begin()
            yield found
        finally:
            found.load.stop()
            found.end()
