"""Reads all targets of a cycle, one call for each adapter connection. What fails is a value."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, wait
from functools import partial
from typing import Final, TypeAlias

from autoscaler.clock import Clock
from autoscaler.errors import TargetError, TargetUnavailable
from autoscaler.logger import Logger
from autoscaler.model import Call, TargetRef, TargetState
from autoscaler.observe.readiness import Normaliser
from autoscaler.target import Adapter
from autoscaler.target.answers import StateCheck, WrongAnswer, checked_error
from autoscaler.threads import NoThread, spawn

States: TypeAlias = Mapping[TargetRef, TargetState | TargetError]
"""Every target of the cycle."""


class Connection:
    """One adapter, kept to its contract: called by one thread at a time, and answered for every target."""

    def __init__(self, name: str, adapter: Adapter, clock: Clock, logger: Logger, kind: str | None = None) -> None:
        """`kind`: the adapter's type as the configuration has it, for messages."""
        self._name = name
        self._kind = kind or type(adapter).__name__
        self._adapter = adapter
        self._check = StateCheck()
        self.normalise: Final = Normaliser()
        """For the shard's thread."""
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

    def follow(self, targets: Collection[TargetRef]) -> None:
        """These are its targets from now on: what is held of others goes. Called by the shard's thread."""
        self._check.follow(targets)
        self.normalise.follow(targets)

    def begin(self, targets: Sequence[TargetRef], call: Call) -> Callable[[], States]:
        """Start reading. What it returns waits for the answer, at most until the deadline."""
        try:
            future = spawn(f"adapter-{self._name}", partial(self._observe, targets, call))
        except NoThread as error:
            unasked = TargetUnavailable(f"adapter {self._name!r} was not asked: {error}")
            return lambda: dict.fromkeys(targets, unasked)
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
                return self._checked(targets, future.result())
            case TargetError() as error:
                return dict.fromkeys(targets, checked_error(error))
            case error:
                return dict.fromkeys(targets, self._broke(error))

    def _checked(self, targets: Sequence[TargetRef], states: object) -> States:
        """What is wrong with an answer concerns its own target, and all of them only where it has none for any."""
        try:
            answers = dict(states) if isinstance(states, Mapping) else None
        except Exception as error:  # noqa: BLE001 - foreign code, and its mapping as well
            return dict.fromkeys(targets, self._broke(error))
        if answers is None:
            came = f"the whole answer is of the type {type(states).__name__}, expected a mapping"
            return {target: self._wrong(f"{target}: {came}") for target in targets}
        strangers = len(answers.keys() - set(targets))
        return {target: self._state(target, answers, strangers) for target in targets}

    def _state(
        self, target: TargetRef, answers: Mapping[TargetRef, object], strangers: int
    ) -> TargetState | TargetError:
        if target not in answers:
            beside = f", beside {strangers} that were not asked for" if strangers else ""
            return self._wrong(f"{target}: there is no answer for it{beside}")
        answer = answers[target]
        try:
            if isinstance(answer, TargetError):
                return checked_error(answer)
            return self._check(target, answer)
        except WrongAnswer as error:
            return self._wrong(f"{target}: {error}")
        except Exception as error:  # noqa: BLE001 - foreign code may be in every value
            return self._broke(error)

    def _wrong(self, what: str) -> TargetError:
        return TargetUnavailable(
            f"{what}; adapter {self._name!r} of type {self._kind!r} broke its contract, report it to its author"
        )

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
