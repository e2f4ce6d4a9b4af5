"""Reads all targets of a cycle, with one call per adapter connection. Failures are values."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, wait
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from autoscaler.clock import Clock
from autoscaler.errors import TargetError, TargetUnavailable
from autoscaler.logger import Logger
from autoscaler.model import Call, TargetRef, TargetState
from autoscaler.observe.readiness import Normaliser
from autoscaler.target import Adapter
from autoscaler.target.answers import StateCheck, WrongAnswer, checked_error
from autoscaler.threads import NoThread, spawn

States: TypeAlias = Mapping[TargetRef, TargetState | TargetError]
"""The states of a cycle's targets."""


class Reading(NamedTuple):
    """Targets that are being read."""

    done: Callable[[], bool]
    """Whether `states` returns at once."""
    states: Callable[[], States]
    """Waits for every target's state until the deadline."""


class Connection:
    """One adapter, called by one thread at a time. Checks its answers against the contract."""

    def __init__(self, name: str, adapter: Adapter, clock: Clock, logger: Logger, kind: str | None = None) -> None:
        """`kind`: the adapter's type in the configuration, for messages."""
        self._name = name
        self._kind = kind or type(adapter).__name__
        self._adapter = adapter
        self._check = StateCheck()
        self.normalise: Final = Normaliser()
        """Used by the shard's thread."""
        self._clock = clock
        self._logger = logger
        self._busy = threading.Lock()
        self._deadline: float | None = None
        """Deadline of the running call."""

    def calling(self) -> bool:
        """Return whether a call to the adapter is running."""
        return self._deadline is not None

    def overdue_seconds(self) -> float:
        """Return the seconds since the running call's deadline; 0 without such a call."""
        deadline = self._deadline
        return 0.0 if deadline is None else max(0.0, self._clock.monotonic() - deadline)

    def follow(self, targets: Collection[TargetRef]) -> None:
        """Forget all other targets. Called by the shard's thread."""
        self._check.follow(targets)
        self.normalise.follow(targets)

    def begin(self, targets: Sequence[TargetRef], call: Call) -> Reading:
        """Start reading."""
        try:
            future = spawn(f"adapter-{self._name}", partial(self._observe, targets, call))
        except NoThread as error:
            unasked = TargetUnavailable(f"adapter {self._name!r} was not asked: {error}")
            return Reading(lambda: True, lambda: dict.fromkeys(targets, unasked))
        return Reading(future.done, partial(self._end, future, targets, call))

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
                return self._checked(targets, future.result())
            case TargetError() as error:
                return dict.fromkeys(targets, checked_error(error))
            case error:
                return dict.fromkeys(targets, self._unexpected(error))

    def _checked(self, targets: Sequence[TargetRef], states: object) -> States:
        """Check the answer for each target. Only an answer without any state affects all targets."""
        try:
            answers = dict(states) if isinstance(states, Mapping) else None
        except Exception as error:  # noqa: BLE001 - foreign code, including its mapping type
            return dict.fromkeys(targets, self._unexpected(error))
        if answers is None:
            came = f"the whole answer is of the type {type(states).__name__}, expected a mapping"
            return {target: self._contract_error(f"{target}: {came}") for target in targets}
        unrequested = len(answers.keys() - set(targets))
        return {target: self._state(target, answers, unrequested) for target in targets}

    def _state(
        self, target: TargetRef, answers: Mapping[TargetRef, object], unrequested: int
    ) -> TargetState | TargetError:
        if target not in answers:
            beside = f", but {unrequested} for other targets" if unrequested else ""
            return self._contract_error(f"{target}: there is no answer for it{beside}")
        answer = answers[target]
        try:
            if isinstance(answer, TargetError):
                return checked_error(answer)
            return self._check(target, answer)
        except WrongAnswer as error:
            return self._contract_error(f"{target}: {error}")
        except Exception as error:  # noqa: BLE001 - any value may run foreign code
            return self._unexpected(error)

    def _contract_error(self, what: str) -> TargetError:
        return TargetUnavailable(
            f"{what}; adapter {self._name!r} of type {self._kind!r} broke its contract, report it to its author"
        )

    def _unexpected(self, error: BaseException) -> TargetError:
        """Report an exception that an adapter must not raise. Its text is omitted, because it may contain a secret."""
        self._logger.error("adapter_failed", adapter=self._name, error=type(error).__name__)
        return TargetUnavailable(
            f"adapter {self._name!r} failed unexpectedly ({type(error).__name__}); report this bug to its author"
        )


def begin(connections: Mapping[str, Connection], targets: Sequence[TargetRef], call: Call) -> Reading:
    """Start reading all targets."""
    by_adapter: dict[str, list[TargetRef]] = {}
    for target in dict.fromkeys(targets):
        by_adapter.setdefault(target.adapter, []).append(target)
    readings = [connections[name].begin(tuple(group), call) for name, group in by_adapter.items()]
    return Reading(
        lambda: all(each.done() for each in readings),
        lambda: {target: state for each in readings for target, state in each.states().items()},
    )
