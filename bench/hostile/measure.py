"""What one bad day cost: a row of the table, and what of it is not clean."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from bench.hostile.daemon import Daemon
from bench.hostile.load import Load
from bench.hostile.log import NOT_JSON, Stretch
from bench.hostile.notes import Notes

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
"""Share of a period by which a cycle may begin before its plan as estimated."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What still counts as clean."""

    in_time_ratio: float = 0.9
    """Of the decisions expected; one is always forgiven, the one at the day's edge."""
    followed_periods: float = 3.0
    """Until the size is written that a new load asks for."""
    peak_mebibytes: float = 400.0
    log_bytes_per_decision: int = 4_096
    """All autoscalers' decisions: two lines each, of 2 KiB."""
    state_bytes: int = 6 * 2**20
    """SQLite's log of 4 MiB included, which grows once."""
    page_bytes: int = 2**20


@dataclass(slots=True)
class Row:
    """One case."""

    section: str
    case: str
    expected: int = 0
    """Decisions of the good autoscaler that were planned."""
    made: int = 0
    in_time: int = 0
    """Those whose cycle began within one period of its plan."""
    moves: int = 0
    """Of the good autoscaler's load."""
    followed: int = 0
    """Of those, the ones followed within the bound."""
    slowest_seconds: float = 0.0
    peak_mebibytes: float = 0.0
    log_lines: int = 0
    log_bytes: int = 0
    state_bytes: int = 0
    """Grown."""
    page_bytes: int = 0
    """The largest of the page, its detail and /metrics."""
    problems: list[str] = field(default_factory=list)
    """What is not clean; nothing: it is."""
    note: str = ""

    @property
    def clean(self) -> bool:
        """Whether everything was as promised."""
        return not self.problems


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
        """The day's log so far."""
        self.log.join(self._daemon.new_log())
        return self.log

    def row(self, section: str, case: str, page_bytes: int) -> Row:
        """The day up to now, its problems named."""
        log, ended = self.read_log(), time.monotonic()
        cycles = [at for at in self._notes.begun(self.began) if at <= ended]
        moves = self._load.moves(self.began)
        limit = self._bounds.followed_periods * self._period
        after = [move.after_seconds for move in moves if move.after_seconds is not None]
        made = log.decided["good"]
        row = Row(
            section,
            case,
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
        row.problems += self._problems(row, log)
        return row

    def _punctual(self, cycles: Sequence[float]) -> int:
        """Plans of the shard's grid in whose period a cycle began. Its anchor is the connection's second cycle."""
        first = self._notes.begun(0.0)[:2]
        anchor = first[-1] if first else 0.0
        return len({int((at - anchor) / self._period + _EARLY) for at in cycles})

    def _problems(self, row: Row, log: Stretch) -> Iterator[str]:
        bounds = self._bounds
        least = min(row.expected - 1, int(row.expected * bounds.in_time_ratio))
        decisions = (row.expected + 2) * self._scalers
        beyond = {
            f"{row.expected - row.made} of {row.expected} decisions of the good autoscaler not made": row.made < least,
            f"{row.made - row.in_time} of {row.expected} decisions of the good autoscaler late": (
                row.in_time < least <= row.made
            ),
            f"{row.moves - row.followed} of {row.moves} moves of its load not followed in time": (
                row.followed < row.moves
            ),
            f"memory rose to {row.peak_mebibytes:.0f} MiB, from {self._began_mebibytes:.0f}": row.peak_mebibytes
            > bounds.peak_mebibytes,
            f"{row.log_bytes / 2**20:.1f} MiB of log": row.log_bytes > decisions * bounds.log_bytes_per_decision,
            f"{row.log_lines} lines of log": row.log_lines > 2 * decisions,
            f"the state grew by {row.state_bytes / 2**20:.1f} MiB": row.state_bytes > bounds.state_bytes,
            f"a page of {row.page_bytes / 2**20:.1f} MiB": row.page_bytes > bounds.page_bytes,
            f"control characters in {log.unprintable} lines of the log": log.unprintable > 0,
        }
        yield from (problem for problem, holds in beyond.items() if holds)
        for event in FORBIDDEN:
            if log.events[event]:
                said = next((error for error in log.errors if error.startswith(f"{event}: ")), event)
                yield f"{log.events[event]} x {said}"


def largest_page(daemon: Daemon) -> int:
    """Bytes of the largest page. Raises requests.RequestException."""
    sizes = []
    for path in PAGES:
        answer = daemon.ask(path)
        sizes.append(len(answer.content))
    return max(sizes)
