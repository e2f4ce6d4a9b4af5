"""Measures every call of every adapter."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from autoscaler.clock import Clock
from autoscaler.errors import TargetError
from autoscaler.model import Call, Decision, ScaleChange, ScaleOutcome, TargetRef, TargetState
from autoscaler.target import Adapter


class CallMeter(Protocol):
    """Counts calls of an adapter."""

    def called(
        self, adapter: str, operation: str, seconds: float, errors: Collection[BaseException], targets: int = 1
    ) -> None:
        """Count a call for this many targets; `errors` has one for each that failed."""


def metered(name: str, adapter: Adapter, meter: CallMeter, clock: Clock) -> Adapter:
    """Return the adapter with its calls counted by `meter`. Its builder closes the original."""
    return (_MeteredAnnouncer if adapter.implements("announce") else _Metered)(name, adapter, meter, clock)


class _Metered(Adapter):
    def __init__(self, name: str, adapter: Adapter, meter: CallMeter, clock: Clock) -> None:
        self._name = name
        self._adapter = adapter
        self.concurrent_writes = adapter.concurrent_writes
        self._meter = meter
        self._clock = clock

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        began = self._clock.monotonic()
        try:
            states = self._adapter.observe(targets, call)
        except BaseException as error:  # foreign code may raise anything
            self._count("observe", began, [error] * len(targets), len(targets))
            raise
        answers = states.values() if isinstance(states, Mapping) else ()  # foreign code: the caller checks the answer
        self._count("observe", began, [answer for answer in answers if isinstance(answer, TargetError)], len(targets))
        return states

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        began = self._clock.monotonic()
        try:
            outcome = self._adapter.scale(target, change, call)
        except BaseException as error:  # foreign code may raise anything
            self._count("scale", began, [error])
            raise
        self._count("scale", began, ())
        return outcome

    def _count(self, operation: str, began: float, errors: Collection[BaseException], targets: int = 1) -> None:
        self._meter.called(self._name, operation, self._clock.monotonic() - began, errors, targets)


class _MeteredAnnouncer(_Metered):
    def announce(self, target: TargetRef, decision: Decision, call: Call) -> None:
        began = self._clock.monotonic()
        try:
            self._adapter.announce(target, decision, call)
        except BaseException as error:  # foreign code may raise anything
            self._count("announce", began, [error])
            raise
        self._count("announce", began, ())
