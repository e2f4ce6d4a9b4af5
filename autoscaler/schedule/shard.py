"""One shard's cycles and their progress."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from autoscaler.clock import Clock
from autoscaler.cycle import CycleResult, Ports, reconcile
from autoscaler.errors import StaleLedger, TargetUnavailable, bug, message_of
from autoscaler.logger import Logger
from autoscaler.model import Autoscaler, Call, ShardName, Written

MAX_CYCLE: Final = timedelta(seconds=30)
"""Time limit of a cycle with a longer sync period."""
_SHARE: Final = 0.9
"""Share of its period that a cycle may take. The rest leaves time to record the result before the next tick."""
_SLACK_SECONDS: Final = 1.0
"""Time past its deadline after which a cycle counts as hung. Until then it may record its outcome."""

_NOT_RECORDED: Final = "it stays an unfinished write until a cycle of this autoscaler is recorded again"


def cycle_seconds(period: timedelta) -> float:
    """Return the time limit of a cycle: nine tenths of its period, at most MAX_CYCLE."""
    return min(_SHARE * period, MAX_CYCLE).total_seconds()


@dataclass(frozen=True)
class Work:
    """What a shard's cycles need. It is immutable, and replaced between two cycles."""

    batches: Mapping[timedelta, tuple[Autoscaler, ...]]
    """Sync period -> its autoscalers."""
    ports: Ports
    begin: Callable[[], None]
    """Called once on the shard's thread, before its first cycle."""
    end: Callable[[], None]
    """Called once after it was replaced, when no cycle uses it."""

    @classmethod
    def of(
        cls, scalers: Sequence[Autoscaler], ports: Ports, begin: Callable[[], None], end: Callable[[], None]
    ) -> "Work":
        """Return the work for these autoscalers."""
        batches: dict[timedelta, list[Autoscaler]] = {}
        for scaler in scalers:
            batches.setdefault(scaler.sync_period, []).append(scaler)
        return cls({period: tuple(batch) for period, batch in batches.items()}, ports, begin, end)


class Shard:
    """Runs batches one at a time on one thread. The other methods can be called from any thread."""

    def __init__(
        self,
        name: ShardName,
        clock: Clock,
        logger: Logger,
        report: Callable[[CycleResult], None],
        work: Work | None = None,
    ) -> None:
        """`report` is called on the shard's thread after every cycle."""
        self.name: Final = name
        self._clock = clock
        self._logger = logger
        self._report = report
        self._lock = threading.Lock()
        self._work = work
        self._in_use: Work | None = None
        """What the last cycle used. Only for the shard's thread."""
        self._due: float | None = None
        self._begun = clock.monotonic()
        self._ended: float | None = None
        self._deadline: float | None = None
        self._period_seconds = 0.0
        """The running cycle's period."""

    def assign(self, work: Work | None) -> None:
        """Set the work of the next cycle. None ends the shard, including ticks already queued."""
        with self._lock:
            self._work = work

    @property
    def periods(self) -> frozenset[timedelta]:
        """The sync periods of the autoscalers, each with a batch and a job."""
        work = self._work
        return frozenset() if work is None else frozenset(work.batches)

    def due(self, seconds: float | None) -> None:
        """Set when the next tick is due on the monotonic clock. Without this, the tick is not late."""
        self._due = seconds

    def tick(self, period: timedelta) -> None:
        """Run one cycle of the batch with this period. A failure is logged, and the next tick tries again."""
        with self._lock:
            work = self._work
            scalers = () if work is None else work.batches.get(period, ())
            if work is None or not scalers:  # other work was assigned after this tick was queued
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
            self._tell(replace(batch, shard=self.name, late_seconds=late, seconds=ended - began))

    def _tell(self, batch: CycleResult) -> None:
        """Report a cycle, whose report may fail: it must not end the shard, too."""
        try:
            self._report(batch)
        except Exception as error:  # noqa: BLE001 - a bug costs this report alone
            self._logger.error("report_failed", **self.name.labels(), error=bug(error))  # noqa: TRY400 - see `bug`

    def _start_using(self, work: Work) -> None:
        """Start using this work. An exception fails this cycle, and the next cycle tries again."""
        if work is not self._in_use:
            self.end()
            work.begin()
            self._in_use = work

    def end(self) -> None:
        """Release what the last cycle used. Called after the shard is retired, when no cycle is running."""
        before, self._in_use = self._in_use, None
        if before is not None:
            before.end()

    def _cycle(self, scalers: Sequence[Autoscaler], call: Call, work: Work) -> CycleResult | None:
        """Run the cycle and return its result, or None if another shard has taken over."""
        try:
            self._start_using(work)
            batch = reconcile(scalers, call, work.ports)
        except StaleLedger as error:
            self._logger.warning("cycle_discarded", **self.name.labels(), error=str(error))
            return None
        except Exception as error:  # noqa: BLE001 - not even a bug may end the shard
            self._logger.error("cycle_failed", **self.name.labels(), autoscalers=len(scalers), error=message_of(error))  # noqa: TRY400 - a bug's has the place
            return CycleResult(broken={scaler.name: error for scaler in scalers})
        for name, raised in batch.broken.items():
            self._logger.error("autoscaler_failed", autoscaler=name, error=message_of(raised))
        for name, outcome in batch.unrecorded.items():
            if isinstance(outcome, Written | TargetUnavailable):
                outcome_text = f"size {outcome.size} was written" if isinstance(outcome, Written) else str(outcome)
                self._logger.error("write_not_recorded", autoscaler=name, error=f"{outcome_text}; {_NOT_RECORDED}")
        return batch

    def tick_all(self) -> None:
        """Run one cycle of every batch, one after another."""
        for period in sorted(self.periods):
            self.tick(period)

    def allowance(self) -> float:
        """Return the seconds within which a cycle of every batch ends, unless the shard hangs."""
        return sum(map(cycle_seconds, self.periods)) + _SLACK_SECONDS

    def busy(self) -> bool:
        """Return whether a cycle is running within its time limit."""
        deadline = self._deadline
        return deadline is not None and self._clock.monotonic() < deadline + _SLACK_SECONDS

    def hung(self) -> bool:
        """Return whether a cycle is running past its deadline."""
        return self._deadline is not None and not self.busy()

    def running(self) -> bool:
        """Return whether a cycle is running."""
        return self._deadline is not None

    def overdue_seconds(self) -> float:
        """Return the seconds that the running cycle is past its deadline; 0 if it is not."""
        deadline = self._deadline
        return 0.0 if deadline is None else max(0.0, self._clock.monotonic() - deadline)

    def overdue_periods(self) -> float:
        """Return `overdue_seconds` in periods of the batch."""
        return self.overdue_seconds() / self._period_seconds if self._period_seconds else 0.0

    def begun(self) -> bool:
        """Return whether the first cycle has ended or reached its deadline."""
        longest = max(map(cycle_seconds, self.periods), default=0.0)
        return self._ended is not None or self._clock.monotonic() >= self._begun + longest

    def alive(self) -> bool:
        """Return whether a cycle ended as recently as expected."""
        periods = self.periods
        if not periods:
            return True
        # Two of its shortest periods (including the phase), plus the time that all batches may take.
        allowed = 2 * min(periods).total_seconds() + self.allowance()
        last = self._begun if self._ended is None else self._ended
        return self._clock.monotonic() - last <= allowed
