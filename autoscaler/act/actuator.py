"""Carries decisions out through the adapter, as many at a time as it takes, until the batch's deadline."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from autoscaler.act.turns import Turns, Write
from autoscaler.act.writers import Job, Writers
from autoscaler.clock import Clock
from autoscaler.errors import StaleLedger, TargetDeferred, TargetError, TargetUnavailable, named
from autoscaler.logger import Logger
from autoscaler.model import Call, Decision, Outcome, Proposed, TargetRef
from autoscaler.target import Adapter, Announces, concurrent_writes
from autoscaler.target.answers import WrongAnswer, checked_error, checked_outcome


class Actuator:
    """Stands behind `cycle.Ports.act` and `announce`. Whatever an adapter does, each change has one outcome.

    It serves one shard as long as that lives, for it remembers whose write has waited and which one hangs.
    """

    def __init__(
        self,
        adapter: Adapter,
        clock: Clock,
        logger: Logger,
        is_current: Callable[[], bool] = lambda: True,
        shards: int = 1,
    ) -> None:
        """`is_current`: whether this shard may still write, or another one has taken over. From any thread.

        `shards`: so many divide what the adapter takes at once.
        """
        self._adapter = adapter
        self._clock = clock
        self._logger = logger
        self._is_current = is_current
        self._turns = Turns()
        self.busy = frozenset[TargetRef]()
        """As `begin` found them in this cycle."""
        self._writers = Writers(max(1, concurrent_writes(adapter) // shards), clock)

    def writing(self) -> bool:
        """Whether a write is under way in a thread of its own."""
        return self._writers.writing()

    def begin(self) -> frozenset[TargetRef]:
        """Targets to which an earlier write is under way: nothing is to be intended for them, and `act` writes nothing.

        To be called before this cycle's intents are committed: an intent in place of the earlier write's would forget
        that this one may yet arrive.
        """
        self.busy = self._writers.targets()
        return self.busy

    def overdue_seconds(self) -> float:
        """For how long a write hangs past its deadline, in a thread of its own; 0: none does."""
        return self._writers.overdue_seconds()

    def act(self, decisions: Sequence[Decision], call: Call) -> Mapping[str, Outcome]:
        """Autoscaler's name -> what its write came to, for each decision that has a change; in a dry run `Proposed`.

        Failures are values. What the deadline leaves no time for is not written and comes back as TargetDeferred.
        Raises StaleLedger, before the next write, when another shard has taken over.
        """
        writes = [Write(decision, decision.change) for decision in decisions if decision.change is not None]
        live = self._turns.order([write for write in writes if not write.decision.dry_run])
        jobs = [Job(one.decision.name, one.decision.target, partial(self._write, one, call)) for one in live]
        written = self._writers.run(jobs, call, self.busy)
        for decision in decisions:
            self._turns.note(decision, written.get(decision.name))
        return {one.name: Proposed(change.size) if one.dry_run else written[one.name] for one, change in writes}

    def announce(self, decisions: Sequence[Decision], call: Call) -> None:
        """Tell an adapter that keeps a record of decisions which concluded ones were not written: failures, proposals.

        Never raises; what the deadline leaves no time for is left out.
        """
        for decision in decisions:
            if isinstance(decision.outcome, Proposed | TargetError):
                self._announce(decision, call)

    def _write(self, write: Write, call: Call) -> Outcome:
        """What one write comes to. Raises StaleLedger."""
        change, target = write.change, write.decision.target
        if self._clock.monotonic() >= call.deadline:
            return TargetDeferred(
                f"{target}: the cycle's deadline passed before size {change.size} was written, "
                "so nothing was; the next cycle decides anew"
            )
        if not self._is_current():
            raise StaleLedger(f"{target}: another shard has taken over; size {change.size} was not written")
        call = replace(call, is_current=self._is_current)  # asked again before each request
        try:
            return checked_outcome(self._adapter.scale(target, change, call))
        except TargetError as error:
            return checked_error(error)
        except WrongAnswer as error:
            broke = f"broke its contract when it wrote size {change.size}: {error}; report it to the adapter's author"
        except BaseException as error:  # noqa: BLE001 - foreign code: whatever it raises must cost this target alone
            broke = f"failed with {named(error)} while it wrote size {change.size}"
        return TargetUnavailable(
            f"{target}: the adapter {broke}; whether it was written is unknown until the next cycle"
        )

    def _announce(self, decision: Decision, call: Call) -> None:
        adapter = cast("object", self._adapter)
        late = self._clock.monotonic() >= call.deadline
        if not isinstance(adapter, Announces) or late or not self._is_current():
            return
        try:
            adapter.announce(decision.target, decision, call)
        except TargetError as error:
            reason = str(checked_error(error))
        except BaseException as error:  # noqa: BLE001 - foreign code, and nothing depends on an announcement
            reason = named(error)
        else:
            return
        self._logger.warning("announcement_failed", autoscaler=decision.name, target=str(decision.target), error=reason)
