"""Adapters on a back end: with the daemon's calls in short, and for the suite of the contract."""

import time
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from autoscaler.clock import Clock, SystemClock
from autoscaler.errors import TargetError
from autoscaler.model import Call, ScaleChange, ScaleOutcome, TargetRef, TargetState
from autoscaler.target import Adapter
from autoscaler.target.contract import Harness, RecordingLogger, make_context
from tests.replaced import replace
from tests.servers.ports import free_port
from tests.waiting import until

_A = TypeVar("_A", bound=Any)


class Live(Generic[_A]):
    """One connection. Targets are named by their `name`; `where` is their namespace, region or parts."""

    call_seconds: ClassVar[float] = 10
    """The time of a call by default."""

    def __init__(self, adapter: _A, logger: RecordingLogger, clock: Clock | None = None) -> None:
        self.adapter, self.logger, self.clock = adapter, logger, clock or SystemClock()

    def call(self, seconds: float | None = None) -> Call:
        allowed = self.call_seconds if seconds is None else seconds
        return Call(self.clock.now(), self.clock.monotonic() + allowed)

    def ref(self, name: str, **where: Any) -> TargetRef:
        return TargetRef("test", name, **where)

    def observe(self, *names: str, seconds: float | None = None) -> dict[str, TargetState | TargetError]:
        """Return what one observation finds of these targets."""
        targets = [self.ref(name) for name in names]
        found = self.adapter.observe(targets, self.call(seconds))
        return {target.name: found[target] for target in targets}

    def look(self, name: str, seconds: float | None = None, **where: Any) -> TargetState | TargetError:
        target = self.ref(name, **where)
        found: TargetState | TargetError = self.adapter.observe([target], self.call(seconds))[target]
        return found

    def state(self, name: str, **where: Any) -> TargetState:
        found = self.look(name, **where)
        assert isinstance(found, TargetState), found
        return found

    def wait_for(self, name: str, wanted: Callable[[TargetState], bool], what: str) -> TargetState:
        """Return the state once it is `wanted`."""
        seen: list[TargetState] = []

        def look() -> bool:
            seen[:] = [self.state(name)]
            return wanted(seen[0])

        until(look, lambda: f"{name} {what}; last seen: {seen}", every_seconds=0.1)
        return seen[0]

    def scale(
        self,
        name: str,
        seen: TargetState,
        size: int,
        *,
        seconds: float | None = None,
        change: str = "",
        victims: tuple[str, ...] = (),
        is_current: Callable[[], bool] = lambda: True,
        **where: Any,
    ) -> ScaleOutcome | TargetError:
        """Return the outcome, or the error that is raised. `change`: the decision's id; empty: one of its own."""
        decision = change or f"decision-{time.monotonic_ns()}"
        decided = ScaleChange(decision, size, seen.replicas, seen.revision, "cpu 90% against 60%", victims)
        try:
            call = replace(self.call(seconds), is_current=is_current)
            outcome: ScaleOutcome = self.adapter.scale(self.ref(name, **where), decided, call)
        except TargetError as error:
            return error
        return outcome

    def try_write(self, name: str) -> str | TargetError:
        """Return the answer of the write test, or the error that is raised."""
        try:
            answer: str = self.adapter.try_write(self.ref(name), self.call())
        except TargetError as error:
            return error
        return answer


class LiveHarness(Harness):
    """A back end that is reached at a URL."""

    adapter_type: ClassVar[type[Any]]

    def __init__(self, url: str, folder: Path) -> None:
        self._url, self._folder = url, folder
        self.adapter = self._build(url)

    @abstractmethod
    def settings(self, url: str) -> dict[str, Any]:
        """Return the settings of a connection to this URL."""

    def rebuild(self, *, dry_run: bool = False) -> Adapter:
        self.close()
        self.adapter = self._build(self._url, dry_run=dry_run)
        return self.adapter

    def unreachable(self) -> Adapter | str:
        return self._build(f"http://127.0.0.1:{free_port()}")

    def close(self) -> None:
        self.adapter.close()

    def _build(self, url: str, *, dry_run: bool = False) -> Adapter:
        settings = self.adapter_type.Settings.model_validate(self.settings(url))
        built: Adapter = self.adapter_type(make_context(settings, self._folder, dry_run=dry_run))
        return built
