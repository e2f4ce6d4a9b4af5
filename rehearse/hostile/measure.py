"""Measures a bad day, and lists exceeded bounds."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rehearse.hostile.daemon import Daemon
from rehearse.hostile.load import Load
from rehearse.hostile.log import NOT_JSON, Stretch
from rehearse.hostile.notes import Notes

PAGES: Final = ("/", "/autoscalers/bad", "/metrics")
FORBIDDEN: Final = (
    "adapter_failed",
    "autoscaler_failed",
    "cycle_failed",
    "library_log",
    "request_failed",
    "state_failed",
    "web_failed",
    NOT_JSON,
)
"""Events that no foreign answer may cause."""
_EARLY: Final = 0.1
"""The part of a period by which a cycle may begin before its estimated plan."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of a clean day."""

    in_time_ratio: float = 0.9
    """The share of expected decisions. One missing decision, at the edge of the day, is always accepted."""
    followed_periods: float = 3.0
    """Periods until the size for a new load is written."""
    heals_periods: float = 6.0
    """Periods until a bad autoscaler has a decision again after its day."""
    answers_seconds: float = 5.0
    """Seconds until an ordinary request is answered on a bad day, or soon after it."""
    peak_mebibytes: float = 400.0
    log_bytes_per_decision: int = 4_096
    """Bytes of the log: two lines of 2 KiB for each decision."""
    state_bytes: int = 6 * 2**20
    """Growth of the state, which includes SQLite's log of 4 MiB."""
    page_bytes: int = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Of one day."""

    expected: int
    """Planned decisions of the good autoscaler."""
    made: int
    in_time: int
    """Decisions whose cycle began within a period of its plan."""
    moves: int
    """Changes of the good autoscaler's load."""
    followed: int
    """The changes that were followed within the bound."""
    slowest_seconds: float
    peak_mebibytes: float
    log_lines: int
    log_bytes: int
    state_bytes: int
    """The growth of the state."""
    page_bytes: int
    """The largest answer: the page, an autoscaler's page or /metrics."""

    def __str__(self) -> str:
        return (
            f"{self.made}/{self.in_time}/{self.expected} decisions made/in time/planned; {self.followed}/{self.moves} "
            f"moves followed, slowest {self.slowest_seconds:.1f} s; memory {self.peak_mebibytes:.0f} MiB; "
            f"log {self.log_lines} lines, {_size(self.log_bytes)}; state {_size(self.state_bytes)}; "
            f"page {_size(self.page_bytes)}"
        )


class Meter:
    """Measures from now until `row`."""

    def __init__(
        self, daemon: Daemon, notes: Notes, load: Load, period_seconds: float, scalers: int, bounds: Bounds
    ) -> None:
        self._daemon, self._notes, self._load = daemon, notes, load
        self._period, self._scalers, self._bounds = period_seconds, scalers, bounds
        self.began = time.monotonic()
        self.log = Stretch()
        daemon.new_log()
        daemon.forget_peak()
        self._began_mebibytes = daemon.peak_mebibytes()
        self._state = daemon.state_bytes()

    def read_log(self) -> Stretch:
        """Read the day's log so far."""
        self.log.join(self._daemon.new_log())
        return self.log

    def figures(self, page_bytes: int) -> tuple[Figures, Sequence[str]]:
        """Return the figures of the day so far, and its problems; none: it is clean."""
        log, ended = self.read_log(), time.monotonic()
        cycles = [at for at in self._notes.begun(self.began) if at <= ended]
        moves = self._load.moves(self.began)
        limit = self._bounds.followed_periods * self._period
        after = [move.after_seconds for move in moves if move.after_seconds is not None]
        made = log.decided["good"]
        found = Figures(
            expected=int((ended - self.began) / self._period),
            made=made,
            in_time=min(made, self._punctual(cycles)),
            moves=len(moves),
            followed=sum(seconds <= limit for seconds in after),
            slowest_seconds=max(after, default=0.0),
            peak_mebibytes=self._daemon.peak_mebibytes(),
            log_lines=log.lines,
            log_bytes=log.size,
            state_bytes=self._daemon.state_bytes() - self._state,
            page_bytes=page_bytes,
        )
        return found, [*self._problems(found, log)]

    def _punctual(self, cycles: Sequence[float]) -> int:
        """Return the number of planned cycles in whose period a cycle began. The plan starts with the second cycle."""
        first = self._notes.begun(0.0)[:2]
        anchor = first[-1] if first else 0.0
        return len({int((at - anchor) / self._period + _EARLY) for at in cycles})

    def _problems(self, found: Figures, log: Stretch) -> Iterator[str]:
        bounds = self._bounds
        least = min(found.expected - 1, int(found.expected * bounds.in_time_ratio))
        decisions = (found.expected + 2) * self._scalers
        beyond = {
            f"{found.expected - found.made} of {found.expected} decisions of the good autoscaler not made": found.made
            < least,
            f"{found.made - found.in_time} of {found.expected} decisions of the good autoscaler late": (
                found.in_time < least <= found.made
            ),
            f"{found.moves - found.followed} of {found.moves} moves of its load not followed in time": (
                found.followed < found.moves
            ),
            f"memory rose to {found.peak_mebibytes:.0f} MiB, from {self._began_mebibytes:.0f}": found.peak_mebibytes
            > bounds.peak_mebibytes,
            f"{found.log_bytes / 2**20:.1f} MiB of log": found.log_bytes > decisions * bounds.log_bytes_per_decision,
            f"{found.log_lines} lines of log": found.log_lines > 2 * decisions,
            f"the state grew by {found.state_bytes / 2**20:.1f} MiB": found.state_bytes > bounds.state_bytes,
            f"a page of {found.page_bytes / 2**20:.1f} MiB": found.page_bytes > bounds.page_bytes,
            f"control characters in {log.unprintable} lines of the log": log.unprintable > 0,
        }
        yield from (problem for problem, holds in beyond.items() if holds)
        for event in FORBIDDEN:
            if log.events[event]:
                said = next((error for error in log.errors if error.startswith(f"{event}: ")), event)
                yield f"{log.events[event]} x {said}"


def largest_page(daemon: Daemon) -> int:
    """Return the bytes of the largest page. Raises requests.RequestException."""
    sizes = []
    for path in PAGES:
        answer = daemon.ask(path)
        sizes.append(len(answer.content))
    return max(sizes)


def _size(count: int) -> str:
    if abs(count) < 10 * 2**20:
        return f"{count / 1024:.0f}K"
    return f"{count / 2**20:.0f}M"
