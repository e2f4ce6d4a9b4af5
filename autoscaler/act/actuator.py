"""Carries decisions out through the adapters, one after another, until the batch's deadline."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from autoscaler.clock import Clock
from autoscaler.errors import StaleLedger, TargetError, TargetUnavailable, named
from autoscaler.logger import Logger
from autoscaler.model import (
    Call,
    Decision,
    Outcome,
    Proposed,
    ScaleChange,
    TargetRef,
)
from autoscaler.target import Adapter, Announces
from autoscaler.target.answers import WrongAnswer, checked_error, checked_outcome


class Actuator:
    """Stands behind `cycle.Ports.act` and `announce`. Whatever an adapter does, each change has an outcome."""

    def __init__(
        self,
        adapters: Mapping[str, Adapter],
        clock: Clock,
        logger: Logger,
        is_current: Callable[[TargetRef], bool] = lambda _: True,
    ) -> None:
        """`adapters`: connections by name; a decision's target names the one that is written through.

        `is_current`: whether this lane may still write to a target, or another one has taken over.
        """
        self._adapters = adapters
        self._clock = clock
        self._logger = logger
        self._is_current = is_current

    def act(self, decisions: Sequence[Decision], call: Call) -> Mapping[str, Outcome]:
        """Autoscaler's name -> what its write came to, for each decision that has a change; in a dry run `Proposed`.

        Failures are values. What the deadline leaves no time for is not written and comes back as TargetUnavailable.
        Raises StaleLedger, before the next write, when another lane has taken over.
        """
        return {
            decision.name: self._one(decision, decision.change, call)
            for decision in decisions
            if decision.change is not None
        }

    def announce(self, decisions: Sequence[Decision], call: Call) -> None:
        """Tell the adapters that keep a record of decisions which concluded ones were not written: failures, proposals.

        Never raises; what the deadline leaves no time for is left out.
        """
        for decision in decisions:
            if isinstance(decision.outcome, Proposed | TargetError):
                self._announce(decision, call)

    def _one(self, decision: Decision, change: ScaleChange, call: Call) -> Outcome:
        if decision.dry_run:
            return Proposed(change.size)
        if self._clock.monotonic() >= call.deadline:
            return TargetUnavailable(
                f"{decision.target}: the cycle's deadline passed before size {change.size} was written, "
                "so nothing was; the next cycle decides anew"
            )
        if not self._is_current(decision.target):
            raise StaleLedger(f"{decision.target}: another lane has taken over; size {change.size} was not written")
        try:
            return checked_outcome(self._adapters[decision.target.adapter].scale(decision.target, change, call))
        except TargetError as error:
            return checked_error(error)
        except WrongAnswer as error:
            broke = f"broke its contract when it wrote size {change.size}: {error}; report it to the adapter's author"
        except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code: its bug must cost this target alone
            broke = f"failed with {named(error)} while it wrote size {change.size}"
        return TargetUnavailable(
            f"{decision.target}: the adapter {broke}; whether it was written is unknown until the next cycle"
        )

    def _announce(self, decision: Decision, call: Call) -> None:
        adapter = cast("object", self._adapters.get(decision.target.adapter))
        late = self._clock.monotonic() >= call.deadline
        if not isinstance(adapter, Announces) or late or not self._is_current(decision.target):
            return
        try:
            adapter.announce(decision.target, decision, call)
        except TargetError as error:
            reason = str(checked_error(error))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code, and nothing depends on it
            reason = named(error)
        else:
            return
        self._logger.warning("announcement_failed", autoscaler=decision.name, target=str(decision.target), error=reason)
