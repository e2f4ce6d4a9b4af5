"""A past that the state tells in part, or not at all: the rest is from Prometheus."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from autoscaler.model import Autoscaler
from autoscaler.whatif.compare.agreement import Agreement, agreement
from autoscaler.whatif.past.past import STATE, Finding, Moment, Past
from autoscaler.whatif.prometheus.prometheus_past import PrometheusPast
from autoscaler.whatif.replay.replay import Load, replay


class InferredPast:
    """Implements `Past`: from Prometheus, then from the state. Raises what each of them raises."""

    def __init__(
        self, inferred: PrometheusPast, state: Past | None, begin: datetime | None, recorded: Autoscaler | None
    ) -> None:
        """`state`: the past that it tells, and `recorded`, as the autoscaler was configured in it last; None: nothing.

        `begin`: from when on the state is read in place of Prometheus; None: never.
        """
        self._inferred, self._state, self._begin, self._recorded = inferred, state, begin, recorded
        self._origin = inferred.origin

    @property
    def name(self) -> str:
        """The autoscaler's."""
        return self._inferred.name

    @property
    def origin(self) -> str:
        """Of the moment that was read last."""
        return self._origin

    @property
    def findings(self) -> Sequence[Finding]:
        """Of both, in order of time; of Prometheus up to where the state begins."""
        known = [each for each in self._inferred.findings if self._begin is None or each.begin < self._begin]
        if self._state is not None and self._begin is not None:
            known += self._state.findings
        return sorted(known, key=lambda each: each.begin)

    def moments(self) -> Iterator[Moment]:
        """Of both, in order of time."""
        self._origin = self._inferred.origin
        for moment in self._inferred.moments():
            if self._begin is not None and moment.at >= self._begin:
                break
            yield moment
        if self._state is not None and self._begin is not None:
            self._origin = STATE
            yield from self._state.moments()

    def agreement(self) -> Agreement | None:
        """How far Prometheus' part agrees with the state, where both are known; None: nowhere."""
        if self._state is None or self._recorded is None:
            return None
        found = agreement(self._state.moments(), replay(self._inferred.moments(), self._recorded, Load.RECORDED))
        return found if found.cycles else None
