"""The cycles of one shard, and how far they have got."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from autoscaler.clock import Clock
from autoscaler.cycle import Batch, Ports, reconcile
from autoscaler.errors import AutoscalerError, StaleLedger, TargetUnavailable, bug
from autoscaler.logger import Logger
from autoscaler.model import Autoscaler, Call, ShardName, Written

LONGEST_CYCLE: Final = timedelta(seconds=30)
"""A cycle's deadline where the sync period is longer."""
_SHARE: Final = 0.9
"""Of its period that a cycle may take: what comes of it is recorded in the rest, and the next tick finds it done."""
_SLACK_SECONDS: Final = 1.0
"""How long past its deadline a cycle counts as still ending rather than as hung: it has its outcome to record."""

_NOT_RECORDED: Final = "it stays an unfinished write until a cycle of this autoscaler is recorded again"


def cycle_seconds(period: timedelta) -> float:
    """How long a cycle may take: nine tenths of its period, at most LONGEST_CYCLE."""
    return min(_SHARE * period, LONGEST_CYCLE).total_seconds()


@dataclass(frozen=True)
class Work:
    """What a shard's cycles work on, and with. It never changes; another one takes its place between two cycles."""

    batches: Mapping[timedelta, tuple[Autoscaler, ...]]
    """Sync period -> the autoscalers that have it."""
    ports: Ports
    begin: Callable[[], None]
    """Called once, on the shard's thread, before its first cycle."""
    end: Callable[[], None]
    """Called once, when another has taken its place and no cycle uses it any more."""

    @classmethod
    def of(
        cls, scalers: Sequence[Autoscaler], ports: Ports, begin: Callable[[], None], end: Callable[[], None]
    ) -> "Work":
        """Of these autoscalers."""
        batches: dict[timedelta, list[Autoscaler]] = {}
        for scaler in scalers:
            batches.setdefault(scaler.sync_period, []).append(scaler)
        return cls({period: tuple(batch) for period, batch in batches.items()}, ports, begin, end)


class Shard:
    """Runs its batches one at a time, on the one thread that the schedule gives it; the rest reads from any thread."""

    def __init__(
        self, name: ShardName, clock: Clock, logger: Logger, report: Callable[[Batch], None], work: Work | None = None
    ) -> None:
        """`report` is called with every cycle that ended, on the shard's own thread."""
        self.name: Final = name
        self._clock = clock
        self._logger = logger
        self._report = report
        self._lock = threading.Lock()
        self._work = work
        self._in_use: Work | None = None
        """The shard's thread's: what the last cycle worked with."""
        self._due: float | None = None
        self._begun = clock.monotonic()
        self._ended: float | None = None
        self._deadline: float | None = None
        self._period_seconds = 0.0
        """Of the cycle that is running."""

    def assign(self, work: Work | None) -> None:
        """What the next cycle works on, and with; None: there is none any more, not even one already queued."""
        with self._lock:
            self._work = work

    @property
    def periods(self) -> frozenset[timedelta]:
        """The sync periods of its autoscalers: a batch and a job for each."""
        work = self._work
        return frozenset() if work is None else frozenset(work.batches)

    def due(self, seconds: float | None) -> None:
        """The tick that comes next was to begin then, by the monotonic clock. Without a word of it, it is not late."""
        self._due = seconds

    def tick(self, period: timedelta) -> None:
        """One cycle of the batch with this period. A failure is a line in the log; the next tick tries again."""
        with self._lock:
            work = self._work
            scalers = () if work is None else work.batches.get(period, ())
            if work is None or not scalers:  # other work was assigned since this tick was queued
                return
            began, moment = self._clock.monotonic(), self._clock.moment()
            self._period_seconds = period.total_seconds()
            self._deadline = deadline = began + cycle_seconds(period)
        late = 0.0 if self._due is None else max(0.0, began - self._due)
        try:
            batch = self._cycle(scalers, Call(moment.now, deadline, moment), work)
        finally:
            ended = self._clock.monotonic()
            self._ended, self._deadline = ended, None
        if batch is not None:
            self._report(replace(batch, shard=self.name, late_seconds=late, seconds=ended - began))

    def _change_to(self, work: Work) -> None:
        """Begin with it. What raises costs this cycle; the next one begins anew."""
        if work is not self._in_use:
            self.end()
            work.begin()
            self._in_use = work

    def end(self) -> None:
        """Let go of what the last cycle worked with. For whoever retired the shard, when no cycle is running."""
        before, self._in_use = self._in_use, None
        if before is not None:
            before.end()

    def _cycle(self, scalers: Sequence[Autoscaler], call: Call, work: Work) -> Batch | None:
        """What it came to; None: the shard was superseded meanwhile, and this says nothing any more."""
        try:
            self._change_to(work)
            batch = reconcile(scalers, call, work.ports)
        except StaleLedger as error:
            self._logger.warning("cycle_discarded", **self.name.labels(), error=str(error))
            return None
        except AutoscalerError as error:
            return self._failed(scalers, error, str(error))
        except Exception as error:  # noqa: BLE001 - a bug must not end the shard
            return self._failed(scalers, error, bug(error))
        for name, raised in batch.broken.items():
            message = str(raised) if isinstance(raised, AutoscalerError) else bug(raised)
            self._logger.error("autoscaler_failed", autoscaler=name, error=message)
        for name, outcome in batch.unrecorded.items():
            if isinstance(outcome, Written | TargetUnavailable):
                came_of_it = f"size {outcome.size} was written" if isinstance(outcome, Written) else str(outcome)
                self._logger.error("write_not_recorded", autoscaler=name, error=f"{came_of_it}; {_NOT_RECORDED}")
        return batch

    def _failed(self, scalers: Sequence[Autoscaler], error: Exception, message: str) -> Batch:
        self._logger.error("cycle_failed", **self.name.labels(), autoscalers=len(scalers), error=message)
        return Batch(broken={scaler.name: error for scaler in scalers})

    def tick_all(self) -> None:
        """One cycle of every batch, one after another."""
        for period in sorted(self.periods):
            self.tick(period)

    def allowance(self) -> float:
        """Seconds within which a cycle of every batch ends, unless the shard hangs."""
        return sum(map(cycle_seconds, self.periods)) + _SLACK_SECONDS

    def busy(self) -> bool:
        """Whether a cycle is running that may still be waited for."""
        deadline = self._deadline
        return deadline is not None and self._clock.monotonic() < deadline + _SLACK_SECONDS

    def hung(self) -> bool:
        """Whether a cycle is running past its deadline."""
        return self._deadline is not None and not self.busy()

    def running(self) -> bool:
        """Whether a cycle is running."""
        return self._deadline is not None

    def overdue_seconds(self) -> float:
        """By how much the running cycle is past its deadline; 0: it is not."""
        deadline = self._deadline
        return 0.0 if deadline is None else max(0.0, self._clock.monotonic() - deadline)

    def overdue_periods(self) -> float:
        """The same in periods of its batch."""
        return self.overdue_seconds() / self._period_seconds if self._period_seconds else 0.0

    def begun(self) -> bool:
        """Whether its first cycle has ended or met its deadline."""
        longest = max(map(cycle_seconds, self.periods), default=0.0)
        return self._ended is not None or self._clock.monotonic() >= self._begun + longest

    def alive(self) -> bool:
        """Whether a cycle has ended as lately as one should have."""
        periods = self.periods
        if not periods:
            return True
        # two of its shortest periods (phase included), and every batch may take its time before it is this one's turn
        allowed = 2 * min(periods).total_seconds() + self.allowance()
        last = self._begun if self._ended is None else self._ended
        return self._clock.monotonic() - last <= allowed
