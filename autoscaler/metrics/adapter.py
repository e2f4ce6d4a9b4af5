"""Measures every call of every adapter."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from autoscaler.clock import Clock
from autoscaler.errors import TargetError
from autoscaler.model import Call, Decision, ScaleChange, ScaleOutcome, TargetRef, TargetState
from autoscaler.target import Adapter

Called: TypeAlias = Callable[[str, str, float, Collection[BaseException], int], object]
"""Counts a call, as `Metrics.called`."""


def metered(name: str, adapter: Adapter, called: Called, clock: Clock) -> Adapter:
    """Return the adapter with its calls counted by `called`. Its builder closes the original."""
    return (_MeteredAnnouncer if adapter.implements("announce") else _Metered)(name, adapter, called, clock)


class _Metered(Adapter):
    def __init__(self, name: str, adapter: Adapter, called: Called, clock: Clock) -> None:
        self._name = name
        self._adapter = adapter
        self.concurrent_writes = adapter.concurrent_writes
        self._called = called
        self._clock = clock

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        with self._counted("observe", len(targets)) as errors:
            states = self._adapter.observe(targets, call)
            if isinstance(states, Mapping):  # foreign code: the caller checks the answer
                errors += [answer for answer in states.values() if isinstance(answer, TargetError)]
        return states

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        with self._counted("scale"):
            return self._adapter.scale(target, change, call)

    @contextmanager
    def _counted(self, operation: str, targets: int = 1) -> Iterator[list[BaseException]]:
        """Count the call in this block, with the errors that it adds, or with its exception for each target."""
        began, errors = self._clock.monotonic(), list[BaseException]()
        try:
            yield errors
        except BaseException as error:  # foreign code may raise anything
            errors[:] = [error] * targets
            raise
        finally:
            self._called(self._name, operation, self._clock.monotonic() - began, errors, targets)


class _MeteredAnnouncer(_Metered):
    def announce(self, target: TargetRef, decision: Decision, call: Call) -> None:
        with self._counted("announce"):
            self._adapter.announce(target, decision, call)
