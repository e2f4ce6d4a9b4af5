"""One cycle of a batch in which an autoscaler that breaks stops no other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from autoscaler.clock import Clock
from autoscaler.cycle import Ports, reconcile
from autoscaler.decide import conclude, decide
from autoscaler.errors import AutoscalerError, StateError
from autoscaler.model import Autoscaler, Call, Decision, History, Observed, Outcome

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
    """Autoscaler's name -> what its own arithmetic raised: a bug, for which it has no decision."""
    lane: str = ""
    """Whose cycle it was."""
    late_seconds: float = 0.0
    """From when it was due to its beginning."""
    observing_seconds: float = 0.0
    """From its beginning until every metric and target had been read."""
    seconds: float = 0.0
    """From its beginning to its end."""


def run(scalers: Sequence[Autoscaler], call: Call, ports: Ports, clock: Clock) -> Batch:
    """The cycle of `scalers`, without those whose decision raises.

    When one breaks, the rest go through the cycle again with the answers that the ports have already given: nothing
    is observed, announced or written twice. Raises StateError, LateError, and what a port itself raised.
    """
    once = _Once(ports, clock)
    try:
        return Batch(reconcile(scalers, call, once), observing_seconds=once.observing_seconds)
    except (StateError, LateError):
        raise
    except Exception:
        broken = once.broken(scalers, call)
        if not broken:
            raise
    decisions = reconcile([scaler for scaler in scalers if scaler.name not in broken], call, once)
    return Batch(decisions, broken, observing_seconds=once.observing_seconds)


class _Once:
    """Ports that ask the real ones once: asked again, they give the same answer."""

    def __init__(self, ports: Ports, clock: Clock) -> None:
        self._ports = ports
        self._clock = clock
        self._observed: Observed | None = None
        self._history: Mapping[str, History] | None = None
        self._intended = False
        self._outcomes: Mapping[str, Outcome] | None = None
        self.observing_seconds = 0.0

    def observe(self, scalers: Sequence[Autoscaler], call: Call) -> Observed:
        if self._observed is None:
            began = self._clock.monotonic()
            observed = self._ports.observe(scalers, call)
            ended = self._clock.monotonic()
            self.observing_seconds = ended - began
            late = ended - call.deadline
            if late > _LATE_SECONDS:
                raise LateError(f"observed {late:.0f} s after the deadline; nothing was decided from it")
            self._observed = observed
        return self._observed

    def recall(self, scalers: Sequence[Autoscaler]) -> Mapping[str, History]:
        if self._history is None:
            self._history = self._ports.recall(scalers)
        return self._history

    def intend(self, decisions: Sequence[Decision]) -> None:
        if not self._intended:
            self._ports.intend(decisions)
            self._intended = True

    def act(self, decisions: Sequence[Decision], call: Call) -> Mapping[str, Outcome]:
        if self._outcomes is None:
            self._outcomes = self._ports.act(decisions, call)
        return self._outcomes

    def record(self, scalers: Sequence[Autoscaler], observed: Observed, decisions: Sequence[Decision]) -> None:
        self._ports.record(scalers, observed, decisions)

    def announce(self, decisions: Sequence[Decision], call: Call) -> None:
        self._ports.announce(decisions, call)

    def broken(self, scalers: Sequence[Autoscaler], call: Call) -> Mapping[str, Exception]:
        """Whose decision raises, and what. Empty as long as there is nothing to decide on."""
        found: dict[str, Exception] = {}
        if self._observed is None or self._history is None:
            return found
        for scaler in scalers:
            try:
                decision = decide(
                    scaler, self._observed.observations[scaler.name], self._history[scaler.name], call.now
                )
                conclude(decision, (self._outcomes or {}).get(scaler.name))
            except Exception as error:  # noqa: BLE001 - a bug costs its own autoscaler alone
                found[scaler.name] = error
        return found
