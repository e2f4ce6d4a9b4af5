"""Checks the simulation: that of the configuration that ran must give the figures that were recorded."""

from typing import Final

from autoscaler.document import Document
from autoscaler.model import ConnectionLimits
from autoscaler.whatif.compare.measures import hours_text, measures
from autoscaler.whatif.past.past import GAP, Cycle
from autoscaler.whatif.replay.course import Course
from autoscaler.whatif.replay.demand import Demand
from autoscaler.whatif.replay.replay import Candidate, Replay
from autoscaler.whatif.replay.start_up import InstanceTime

_FARTHEST_UNSERVED: Final = 0.01
"""As a share of the demand: one point of a percentage."""
_FARTHEST_HOURS: Final = 0.03
"""As a share of the instance-hours that were."""


class Fit(Document):
    """The results of the configuration that ran, real and simulated, over the same time."""

    seconds: float
    """The time in which the daemon wrote sizes."""
    instance_hours: float
    simulated_instance_hours: float
    unserved: float | None
    """As a share of the demand; null: unknown."""
    simulated_unserved: float | None
    holds: bool
    """Whether both are near enough, so that candidates can be compared."""

    @property
    def summary(self) -> str:
        """Both in a sentence, without its full stop."""
        simulated = _figures(self.simulated_unserved, self.simulated_instance_hours)
        return f"Simulated, what ran comes to {simulated}; it was {_figures(self.unserved, self.instance_hours)}"


class Check:
    """Takes each cycle in order. Cycles count in which the daemon decided and wrote what it decided.

    After a gap and after a dry run the simulation begins again from the real size.
    """

    def __init__(self, start_up: InstanceTime, limits: ConnectionLimits) -> None:
        """`limits`: of the connection."""
        self._candidate: Final = Candidate("what ran", None, limits)
        self._start_up: Final = start_up.seconds
        self._was, self._simulated = Course(), Course("what ran")
        self._replay: Replay | None = None
        self._before: Cycle | None = None

    def add(self, cycle: Cycle) -> None:
        """Take the next cycle."""
        before, self._before = self._before, cycle
        if cycle.decision is None or cycle.decision.dry_run:
            self._replay = None
            self._was.add_unknown(cycle)
            self._simulated.add_unknown(cycle)
            return
        if before is None or cycle.at - before.at > GAP * max(before.scaler.sync_period, cycle.scaler.sync_period):
            self._replay = None
        self._replay = self._replay or Replay(self._candidate, self._start_up)
        self._was.add_seen(cycle)
        replayed = self._replay.step(cycle)
        if replayed is not None:
            self._simulated.add_replayed(replayed)

    def found(self, demand: Demand, *, is_known: bool) -> Fit | None:
        """How well the simulation fits; None if no cycle counts. `is_known`: whether the demand is."""
        was, simulated = [measures(each, demand, is_known=is_known) for each in (self._was, self._simulated)]
        if not was.covered_seconds:
            return None
        return Fit(
            seconds=was.covered_seconds,
            instance_hours=was.instance_hours,
            simulated_instance_hours=simulated.instance_hours,
            unserved=was.unserved,
            simulated_unserved=simulated.unserved,
            holds=_is_near(was.unserved, simulated.unserved)
            and abs(simulated.instance_hours - was.instance_hours) <= _FARTHEST_HOURS * was.instance_hours,
        )


def _is_near(was: float | None, simulated: float | None) -> bool:
    if was is None or simulated is None:
        return was is simulated
    return abs(simulated - was) <= _FARTHEST_UNSERVED


def _figures(unserved: float | None, hours: float) -> str:
    served = "an unknown unserved demand" if unserved is None else f"{unserved:.1%} of unserved demand"
    return f"{served} and {hours_text(hours)} instance-hours"
