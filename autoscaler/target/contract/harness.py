"""The back end under test, as the contract suite uses it."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from autoscaler.clock import Clock, SystemClock
from autoscaler.errors import TargetError
from autoscaler.model import Call, Hold, Phase, ScaleChange, TargetRef, TargetState
from autoscaler.target.protocol import Adapter, AdapterContext, AdapterMemory, ForgetfulMemory, SettingsT


class RecordingLogger:
    """A `Logger` that keeps (level, event, keys) in `lines`, for tests."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, Any]]] = []

    def debug(self, event: str, **keys: Any) -> None:
        """Keep the line."""
        self.lines.append(("debug", event, keys))

    def info(self, event: str, **keys: Any) -> None:
        """Keep the line."""
        self.lines.append(("info", event, keys))

    def warning(self, event: str, **keys: Any) -> None:
        """Keep the line."""
        self.lines.append(("warning", event, keys))

    def error(self, event: str, **keys: Any) -> None:
        """Keep the line."""
        self.lines.append(("error", event, keys))

    @property
    def events(self) -> list[str]:
        """Return the event of each line."""
        return [event for _, event, _ in self.lines]

    def of(self, event: str) -> list[dict[str, Any]]:
        """Return the keys of each line of this event."""
        return [keys for _, found, keys in self.lines if found == event]


def make_context(
    settings: SettingsT,
    state_dir: Path,
    *,
    name: str = "test",
    dry_run: bool = False,
    dry_targets: frozenset[TargetRef] = frozenset(),
    clock: Clock | None = None,
    logger: RecordingLogger | None = None,
    memory: AdapterMemory | None = None,
    drains: Mapping[TargetRef, str | None] | None = None,
) -> AdapterContext[SettingsT]:
    """Return a context as the daemon makes it, with the machine's clock. The folder is created.

    `memory`: with the memory of an earlier adapter, the adapter is that one after a restart.
    """
    state_dir.mkdir(parents=True, exist_ok=True)
    return AdapterContext(
        name,
        settings,
        clock or SystemClock(),
        logger or RecordingLogger(),
        state_dir,
        dry_run,
        dry_targets,
        memory or ForgetfulMemory(),
        drains or {},
    )


class Harness(ABC):
    """One back end, one adapter and one target. The suite's `harness` fixture yields it and closes what it opened.

    Tests may share servers: every test brings the target to the sizes that it needs.
    """

    adapter: Adapter
    """The adapter under test; `rebuild` replaces it."""
    target: TargetRef
    """A scalable target with instances."""
    missing: TargetRef
    """A valid target that does not exist."""
    unscalable: TargetRef | None = None
    """A target that exists and cannot be scaled. None: the back end has no such target."""
    small: int = 1
    large: int = 3
    """Two valid sizes of the target; `(small + large) // 2` is a third."""
    scales_to_zero: bool = True
    chooses_victims: bool = False
    """True when the adapter honours `ScaleChange.victims`."""
    patience_seconds: float = 60
    """The longest time that the back end takes to reach a new size."""
    poll_seconds: float = 0.1
    deadline_seconds: float = 10
    """The time of one call."""
    clock: Clock = SystemClock()
    """The clock in the adapter's context."""

    @abstractmethod
    def rebuild(self, *, dry_run: bool = False) -> Adapter:
        """Close `adapter` and build a new one on the same back end and state folder."""

    @abstractmethod
    def set_size_outside(self, size: int) -> None:
        """Set the target's size as another client would, without `adapter`."""

    @abstractmethod
    def unreachable(self) -> Adapter | str:
        """Return a connection to a back end that does not answer, or why there is none: its tests are then skipped.

        The suite closes the connection.
        """

    def hold(self) -> AbstractContextManager[object] | str:
        """Return a context in which an operation holds both directions, or why the test of it is skipped."""
        return "this harness begins no operation that holds the target"

    def call(self, seconds: float | None = None) -> Call:
        """Return a call with this many seconds left; negative: its deadline has passed."""
        allowed = self.deadline_seconds if seconds is None else seconds
        return Call(self.clock.now(), self.clock.monotonic() + allowed)

    def observe(self) -> TargetState:
        """Return the target's state. Fail the test when it is an error."""
        answer = self.adapter.observe([self.target], self.call())[self.target]
        if isinstance(answer, TargetError):
            raise AssertionError(f"observe({self.target}) should be its state, is {type(answer).__name__}: {answer}")
        return answer

    def change(self, state: TargetState, size: int, *, victims: tuple[str, ...] = ()) -> ScaleChange:
        """Return a change to `size` with a new id, decided from `state`."""
        return ScaleChange(
            f"contract-{time.monotonic_ns()}",
            size,
            state.replicas,
            state.revision,
            "the contract suite says so",
            victims,
        )

    def start_at(self, size: int) -> TargetState:
        """Bring the target to `size` from outside and wait until it is at rest."""
        if not at_rest(self.observe(), size):
            self.set_size_outside(size)
        return self.settle(size)

    def settle(self, size: int) -> TargetState:
        """Wait until the target asks for `size`, runs exactly that, and has no hold."""
        return self.wait_for(lambda state: at_rest(state, size), f"to be at rest at size {size}")

    def wait_for(self, wanted: Callable[[TargetState], bool], what: str) -> TargetState:
        """Observe until `wanted`. Fail the test after `patience_seconds` with the last state."""
        give_up = time.monotonic() + self.patience_seconds
        while True:
            state = self.observe()
            if wanted(state):
                return state
            if time.monotonic() > give_up:
                raise AssertionError(
                    f"{self.target} should come {what} within {self.patience_seconds:g} s; last seen: {state}"
                )
            time.sleep(self.poll_seconds)


def live_weight(state: TargetState) -> int:
    """Return the units that run and stay."""
    return sum(one.weight for one in state.instances if one.phase is Phase.RUNNING and not one.deleting)


def at_rest(state: TargetState, size: int) -> bool:
    """Return whether the target asks for `size`, runs exactly that, and no instance leaves or hold exists."""
    leaving = any(one.deleting for one in state.instances)
    sizes = {state.replicas, state.status_replicas, live_weight(state)}
    return sizes == {size} and not leaving and state.hold == Hold()
