"""A past from Prometheus, and from the state as far as that knows it."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from autoscaler.model import Autoscaler
from autoscaler.whatif.compare.agreement import Agreement, agreement
from autoscaler.whatif.past.past import STATE, Cycle, Finding, Past
from autoscaler.whatif.prometheus.prometheus_past import PrometheusPast
from autoscaler.whatif.replay.replay import Candidate, Load, replay


class InferredPast:
    """Implements `Past`: cycles from Prometheus, then from the state. Raises what these raise."""

    def __init__(
        self, inferred: PrometheusPast, state: Past | None, begin: datetime | None, recorded: Autoscaler | None
    ) -> None:
        """`state`: what the state knows of the same time; `recorded`: the last configuration in it; None: nothing.

        `begin`: when the cycles of the state replace those of Prometheus; None: never.
        """
        self.name, self.origin = inferred.name, inferred.origin
        self._inferred, self._state, self._recorded = inferred, state, recorded
        self._begin = None if state is None else begin

    @property
    def findings(self) -> Sequence[Finding]:
        """Of both, in order of time; of Prometheus until the state begins."""
        known = [each for each in self._inferred.findings if self._begin is None or each.begin < self._begin]
        if self._state is not None and self._begin is not None:
            known += self._state.findings
        return sorted(known, key=lambda each: each.begin)

    def cycles(self) -> Iterator[Cycle]:
        """Of both, in order of time. `origin` is that of the last cycle."""
        self.origin = self._inferred.origin
        for cycle in self._inferred.cycles():
            if self._begin is not None and cycle.at >= self._begin:
                break
            yield cycle
        if self._state is not None and self._begin is not None:
            self.origin = STATE
            yield from self._state.cycles()

    def agreement(self) -> Agreement | None:
        """How far Prometheus agrees with the state; None if no time is known from both."""
        if self._state is None or self._recorded is None:
            return None
        candidate = Candidate("recorded", self._recorded, Load.RECORDED)
        found = agreement(self._state.cycles(), replay(self._inferred.cycles(), candidate))
        return found if found.cycles else None
