"""Applies decisions through the adapter, several at a time if it allows that, until the batch's deadline."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from autoscaler.act.writers import Job, Writers
from autoscaler.clock import Clock
from autoscaler.errors import StaleLedger, TargetDeferred, TargetError, TargetUnavailable, named
from autoscaler.logger import Logger
from autoscaler.model import Call, Decision, Direction, Outcome, Proposed, ScaleChange, TargetRef
from autoscaler.target import Adapter
from autoscaler.target.answers import WrongAnswer, checked_error, checked_outcome
from autoscaler.threads import NoThread, spawn

MAX_CONCURRENT_WRITES: Final = 64
"""Writes of one connection, each on its own thread."""
_PATIENT_CYCLES: Final = 4
"""After this many cycles without time, a scale-in has a scale-out's priority, so that it is not delayed forever."""
_MAX_WAITING: Final = 10_000
"""Writes whose waiting is remembered."""


class Turns:
    """Tracks how long each autoscaler's write has waited. Used on one shard's thread."""

    def __init__(self) -> None:
        self._waited: dict[str, int] = {}
        """Autoscaler's name -> consecutive cycles without time for its write."""

    def order(self, decisions: Iterable[Decision]) -> Sequence[Decision]:
        """Sort decisions to write: scale-outs first, then by waiting time, then in the order given."""
        return sorted(decisions, key=self._rank)

    def note(self, decision: Decision, outcome: Outcome | None) -> None:
        """Record a decision's outcome in this cycle; None if there was nothing to write."""
        if isinstance(outcome, TargetDeferred):
            if len(self._waited) >= _MAX_WAITING:  # most of these have left the configuration meanwhile
                self._waited.clear()
            self._waited[decision.name] = self._waited.get(decision.name, 0) + 1
        else:
            self._waited.pop(decision.name, None)

    def _rank(self, decision: Decision) -> tuple[bool, int]:
        waited, change = self._waited.get(decision.name, 0), decision.change
        first = (change is not None and change.direction is Direction.OUT) or waited >= _PATIENT_CYCLES
        return not first, -waited


class Actuator:
    """Writes the decisions of one shard, and announces them. Each change has exactly one outcome.

    It lives as long as its shard, because it remembers which writes waited and which one hangs.
    """

    def __init__(
        self,
        adapter: Adapter,
        clock: Clock,
        logger: Logger,
        is_current: Callable[[], bool] = lambda: True,
        shards: int = 1,
    ) -> None:
        """`is_current`: whether this shard may still write; callable from any thread.

        `shards`: number of shards that divide the adapter's concurrent writes.
        """
        self._adapter = adapter
        self._clock = clock
        self._logger = logger
        self._is_current = is_current
        self._turns = Turns()
        self._announcing: Future[None] | None = None
        """The last announcements. They have a thread of their own, because nothing may wait for one that hangs."""
        self.writers: Final = Writers(max(1, _concurrent_writes(adapter) // shards), clock)

    def act(
        self, decisions: Sequence[Decision], call: Call, busy: frozenset[TargetRef] = frozenset()
    ) -> Mapping[str, Outcome]:
        """Return the outcome of each decision with a change, by autoscaler name; `Proposed` in a dry run.

        `busy`: targets to which nothing is written, because an earlier write was under way before the intents.
        Failures are values. A change that the deadline leaves no time for is TargetDeferred. Raises StaleLedger, before
        the next write, if another shard has taken over.
        """
        live = self._turns.order(made for made in decisions if made.change is not None and not made.dry_run)
        jobs = [
            Job(made.name, made.target, partial(self._write, made.target, change, call))
            for made in live
            if (change := made.change) is not None
        ]
        written = self.writers.run(jobs, call, busy)
        for decision in decisions:
            self._turns.note(decision, written.get(decision.name))
        return {
            made.name: Proposed(change.size) if made.dry_run else written[made.name]
            for made in decisions
            if (change := made.change) is not None
        }

    def announce(self, decisions: Sequence[Decision], call: Call) -> None:
        """Report concluded decisions without a write (failures, proposals) to an adapter that records decisions.

        Never raises. Skips reports that the deadline leaves no time for, and all while an earlier one hangs.
        """
        told = [made for made in decisions if isinstance(made.outcome, Proposed | TargetError)]
        hangs = self._announcing is not None and not self._announcing.done()
        if not told or hangs or not self._adapter.implements("announce"):
            return

        def announce() -> None:
            for decision in told:
                self._announce(decision, call)

        with suppress(NoThread):  # a later cycle has other decisions
            self._announcing = spawn("announcer", announce)
            if wait([self._announcing], max(0.0, call.deadline - self._clock.monotonic())).not_done:
                self._logger.warning("announcement_failed", error="it has no answer by the cycle's deadline")

    def _write(self, target: TargetRef, change: ScaleChange, call: Call) -> Outcome:
        """Return the outcome of one write. Raises StaleLedger."""
        if self._clock.monotonic() >= call.deadline:
            return TargetDeferred(
                f"{target}: the cycle's deadline passed before size {change.size} was written; "
                "the next cycle decides again"
            )
        if not self._is_current():
            raise StaleLedger(f"{target}: another shard has taken over; size {change.size} was not written")
        call = replace(call, is_current=self._is_current)  # checked again before each request
        try:
            return checked_outcome(self._adapter.scale(target, change, call))
        except TargetError as error:
            return checked_error(error)
        except WrongAnswer as error:
            problem = f"broke its contract when it wrote size {change.size}: {error}; report it to the adapter's author"
        except BaseException as error:  # noqa: BLE001 - foreign code must only affect its own target
            problem = f"failed with {named(error)} while it wrote size {change.size}"
        return TargetUnavailable(
            f"{target}: the adapter {problem}; whether it was written is unknown until the next cycle"
        )

    def _announce(self, decision: Decision, call: Call) -> None:
        if self._clock.monotonic() >= call.deadline or not self._is_current():
            return
        try:
            self._adapter.announce(decision.target, decision, call)
        except TargetError as error:
            reason = str(checked_error(error))
        except BaseException as error:  # noqa: BLE001 - foreign code, and nothing depends on an announcement
            reason = named(error)
        else:
            return
        self._logger.warning("announcement_failed", autoscaler=decision.name, target=str(decision.target), error=reason)


def _concurrent_writes(adapter: Adapter) -> int:
    """Return how many `scale` calls an adapter accepts at a time; 1 if its attribute is not valid."""
    found: object = adapter.concurrent_writes
    return min(found, MAX_CONCURRENT_WRITES) if type(found) is int and found > 1 else 1
