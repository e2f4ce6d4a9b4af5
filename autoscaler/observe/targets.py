"""Reads all targets of a cycle, one call for each adapter connection. What fails is a value."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from functools import partial
from typing import TypeAlias

from autoscaler.clock import Clock
from autoscaler.errors import TargetError, TargetUnavailable, bare
from autoscaler.logger import Logger
from autoscaler.model import Call, TargetRef, TargetState
from autoscaler.observe.workers import settle, spawn
from autoscaler.target import Adapter

States: TypeAlias = Mapping[TargetRef, TargetState | TargetError]
"""Every target of the cycle."""


class Connection:
    """One adapter, kept to its contract: called by one thread at a time, and answered for every target."""

    def __init__(self, name: str, adapter: Adapter, clock: Clock, logger: Logger) -> None:
        self._name = name
        self._adapter = adapter
        self._clock = clock
        self._logger = logger
        self._busy = threading.Lock()
        self._deadline: float | None = None
        """Of the call under way."""

    def calling(self) -> bool:
        """Whether the adapter is at a call."""
        return self._deadline is not None

    def overdue_seconds(self) -> float:
        """For how long the adapter has been at a call past its deadline; 0: it is not."""
        deadline = self._deadline
        return 0.0 if deadline is None else max(0.0, self._clock.monotonic() - deadline)

    def begin(self, targets: Sequence[TargetRef], call: Call) -> Callable[[], States]:
        """Start reading. What it returns waits for the answer, at most until the deadline."""
        future: Future[States] = Future()
        spawn(f"adapter-{self._name}", partial(settle, future, partial(self._observe, targets, call)))
        return partial(self._end, future, targets, call)

    def _observe(self, targets: Sequence[TargetRef], call: Call) -> States:
        if not self._busy.acquire(timeout=max(call.deadline - self._clock.monotonic(), 0)):
            raise TargetUnavailable(f"adapter {self._name!r} is still busy with an earlier cycle")
        self._deadline = call.deadline
        try:
            return self._adapter.observe(targets, call)
        finally:
            self._deadline = None
            self._busy.release()

    def _end(self, future: Future[States], targets: Sequence[TargetRef], call: Call) -> States:
        wait([future], timeout=max(call.deadline - self._clock.monotonic(), 0))
        if not future.done():
            late = TargetUnavailable(f"adapter {self._name!r} did not answer before the cycle's deadline")
            return dict.fromkeys(targets, late)
        match future.exception():
            case None:
                return {target: self._checked(target, future.result()) for target in targets}
            case TargetError() as error:
                return dict.fromkeys(targets, bare(error))
            case error:
                return dict.fromkeys(targets, self._broke(error))

    def _checked(self, target: TargetRef, states: States) -> TargetState | TargetError:
        state = states.get(target) if isinstance(states, Mapping) else None
        if isinstance(state, TargetError):
            return bare(state)
        if isinstance(state, TargetState):
            return state
        return TargetUnavailable(f"adapter {self._name!r} returned {type(state).__name__} for {target}, not its state")

    def _broke(self, error: BaseException) -> TargetError:
        """For what an adapter never should raise. The log has its word; a message might show a secret of theirs."""
        self._logger.error("adapter_failed", adapter=self._name, error=type(error).__name__)
        return TargetUnavailable(
            f"adapter {self._name!r} failed unexpectedly ({type(error).__name__}); report this bug to its author"
        )


def begin(connections: Mapping[str, Connection], targets: Sequence[TargetRef], call: Call) -> Callable[[], States]:
    """Start reading all targets. What it returns has every one's state, by the deadline."""
    by_adapter: dict[str, list[TargetRef]] = {}
    for target in dict.fromkeys(targets):
        by_adapter.setdefault(target.adapter, []).append(target)
    ends = [connections[name].begin(tuple(group), call) for name, group in by_adapter.items()]
    return lambda: {target: state for end in ends for target, state in end().items()}
