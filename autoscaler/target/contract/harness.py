"""What the contract suite needs of a back end under test."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscaler.clock import Clock, SystemClock
from autoscaler.errors import TargetError
from autoscaler.model import Call, Hold, Phase, ScaleChange, TargetRef, TargetState
from autoscaler.target.protocol import Adapter, AdapterContext, AdapterMemory, ForgetfulMemory, SettingsT


class RecordingLogger:
    """A `Logger` that keeps (level, event, keys) in `lines`, for tests of what is logged and what must not be."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, Any]]] = []

    def debug(self, event: str, **keys: Any) -> None:
        """Kept."""
        self.lines.append(("debug", event, keys))

    def info(self, event: str, **keys: Any) -> None:
        """Kept."""
        self.lines.append(("info", event, keys))

    def warning(self, event: str, **keys: Any) -> None:
        """Kept."""
        self.lines.append(("warning", event, keys))

    def error(self, event: str, **keys: Any) -> None:
        """Kept."""
        self.lines.append(("error", event, keys))


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
) -> AdapterContext[SettingsT]:
    """What the daemon would hand the adapter, on the machine's own clock; the folder is created.

    `memory`: hand the same one to two adapters, and the second is what a restart makes of the first.
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
    )


class Harness(ABC):
    """One back end, one adapter on it, one target to play with. The suite's `harness` fixture yields it.

    The fixture closes what it opened. Servers may be shared between tests; every test brings the target to the
    sizes it needs by itself.
    """

    adapter: Adapter
    """The connection under test; `rebuild` replaces it."""
    target: TargetRef
    """Can be scaled; has instances of its own."""
    missing: TargetRef
    """Well-formed, and does not exist."""
    unscalable: TargetRef | None = None
    """Exists and can never be scaled. None: this back end knows no such thing."""
    small: int = 1
    large: int = 3
    """Two sizes that the target can take; `(small + large) // 2` is a third."""
    scales_to_zero: bool = True
    chooses_victims: bool = False
    """Whether `ScaleChange.victims` is honoured."""
    patience_seconds: float = 30
    """How long the back end may take to come to a new size."""
    poll_seconds: float = 0.1
    deadline_seconds: float = 10
    """What one call is given."""
    clock: Clock = SystemClock()
    """The one in the adapter's context."""

    @abstractmethod
    def rebuild(self, *, dry_run: bool = False) -> Adapter:
        """Close `adapter` and put a new one in its place, on the same back end and state folder."""

    @abstractmethod
    def set_size_outside(self, size: int) -> None:
        """Set the target's size as somebody else would: not through `adapter`."""

    @abstractmethod
    def unreachable(self) -> Adapter | str:
        """A new connection to a back end that does not answer, or why there can be none: then its tests are skipped.

        The suite closes it.
        """

    def call(self, seconds: float | None = None) -> Call:
        """A call that has this long from now; negative: too late already."""
        allowed = self.deadline_seconds if seconds is None else seconds
        return Call(self.clock.now(), self.clock.monotonic() + allowed)

    def observe(self) -> TargetState:
        """The target's state now; fails the test when it is an error."""
        answer = self.adapter.observe([self.target], self.call())[self.target]
        if isinstance(answer, TargetError):
            pytest.fail(f"observe({self.target}) should be its state, is {type(answer).__name__}: {answer}")
        return answer

    def change(self, state: TargetState, size: int, *, victims: tuple[str, ...] = ()) -> ScaleChange:
        """A change to `size`, decided from `state`, with an id of its own."""
        return ScaleChange(
            f"contract-{time.monotonic_ns()}",
            size,
            state.replicas,
            state.revision,
            "the contract suite says so",
            victims,
        )

    def start_at(self, size: int) -> TargetState:
        """Bring the target to `size` from outside and wait until it is at rest there."""
        if not at_rest(self.observe(), size):
            self.set_size_outside(size)
        return self.settle(size)

    def settle(self, size: int) -> TargetState:
        """Wait until the target asks for `size`, exactly so much runs, and nothing holds it."""
        return self.wait_for(lambda state: at_rest(state, size), f"to be at rest at size {size}")

    def wait_for(self, wanted: Callable[[TargetState], bool], what: str) -> TargetState:
        """Observe until `wanted`; fails the test after `patience_seconds`, saying what was seen last."""
        give_up = time.monotonic() + self.patience_seconds
        while True:
            state = self.observe()
            if wanted(state):
                return state
            if time.monotonic() > give_up:
                pytest.fail(f"{self.target} should come {what} within {self.patience_seconds:g} s; last seen: {state}")
            time.sleep(self.poll_seconds)


def live_weight(state: TargetState) -> int:
    """Units that run and stay."""
    return sum(one.weight for one in state.instances if one.phase is Phase.RUNNING and not one.deleting)


def at_rest(state: TargetState, size: int) -> bool:
    """Whether the target asks for `size`, exactly so much runs, nothing leaves and nothing holds it."""
    leaving = any(one.deleting for one in state.instances)
    sizes = {state.replicas, state.status_replicas, live_weight(state)}
    return sizes == {size} and not leaving and state.hold == Hold()
