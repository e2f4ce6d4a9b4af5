"""One cycle of a batch: on time, or not at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from autoscaler.clock import Clock
from autoscaler.cycle import Ports, reconcile
from autoscaler.errors import AutoscalerError
from autoscaler.model import Autoscaler, Call, Decision, History, Observed, Outcome, ShardName, Standing

_NO_SHARD: Final = ShardName("")
_LATE_SECONDS: Final = 5.0
"""How long past its deadline an observation may come and still be decided on."""


class LateError(AutoscalerError):
    """An observation came so late that it says nothing about now: the next cycle observes anew."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What one cycle came to."""

    decisions: Sequence[Decision] = ()
    """Concluded and recorded, in the order of the autoscalers."""
    broken: Mapping[str, Exception] = field(default_factory=dict)
    """Autoscaler's name -> what was raised for it: it has no decision."""
    unrecorded: Mapping[str, Outcome] = field(default_factory=dict)
    """Of those, what a write came to that is not recorded."""
    removals_left: int | None = None
    """What may still leave under the connection's removal budget; None: it has none."""
    total: int | None = None
    """What the sizes of the connection's autoscalers sum to; None: the connection has no limit of it."""
    shard: ShardName = _NO_SHARD
    """Whose cycle it was."""
    late_seconds: float = 0.0
    """From when it was due to its beginning."""
    observing_seconds: float = 0.0
    """From its beginning until every metric and target had been read."""
    seconds: float = 0.0
    """From its beginning to its end."""


def run(scalers: Sequence[Autoscaler], call: Call, ports: Ports, clock: Clock) -> Batch:
    """The cycle of `scalers`. Raises StateError, LateError, and what a port itself raised: that concerns them all."""
    punctual = _Punctual(ports, clock)
    return Batch(*reconcile(scalers, call, punctual), observing_seconds=punctual.observing_seconds)


class _Punctual:
    """Ports whose observation is timed, and refused when it comes too late."""

    def __init__(self, ports: Ports, clock: Clock) -> None:
        self._ports = ports
        self._clock = clock
        self.observing_seconds = 0.0

    def observe(self, scalers: Sequence[Autoscaler], call: Call) -> Observed:
        began = self._clock.monotonic()
        observed = self._ports.observe(scalers, call)
        ended = self._clock.monotonic()
        self.observing_seconds = ended - began
        late = ended - call.deadline
        if late > _LATE_SECONDS:
            raise LateError(f"observed {late:.0f} s after the deadline; nothing was decided from it")
        return observed

    def recall(self, scalers: Sequence[Autoscaler]) -> Mapping[str, History]:
        return self._ports.recall(scalers)

    def standing(self, now: datetime) -> Standing:
        return self._ports.standing(now)

    def intend(self, decisions: Sequence[Decision]) -> Mapping[str, Exception]:
        return self._ports.intend(decisions)

    def act(self, decisions: Sequence[Decision], call: Call) -> Mapping[str, Outcome]:
        return self._ports.act(decisions, call)

    def record(
        self, scalers: Sequence[Autoscaler], observed: Observed, decisions: Sequence[Decision]
    ) -> Mapping[str, Exception]:
        return self._ports.record(scalers, observed, decisions)

    def announce(self, decisions: Sequence[Decision], call: Call) -> None:
        self._ports.announce(decisions, call)
