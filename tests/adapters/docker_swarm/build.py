"""Helpers that build the values of these tests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from adapters.docker_swarm import DockerSwarm
from autoscaler.clock import SystemClock
from autoscaler.model import Call, ScaleChange, TargetRef, TargetState
from autoscaler.target.contract import make_context
from tests.waiting import until

Connect: TypeAlias = Callable[..., DockerSwarm]
"""`connect(host, tls={...})` returns an adapter for that host."""


def adapter(folder: Path, *, dry_run: bool = False, **section: Any) -> DockerSwarm:
    """Return an adapter for a section of the configuration, with keys as in YAML."""
    return DockerSwarm(make_context(DockerSwarm.Settings.model_validate(section), folder, dry_run=dry_run))


def ref(name: str) -> TargetRef:
    """Return a service of the connection `swarm`."""
    return TargetRef("swarm", name)


def call(seconds: float = 20) -> Call:
    """Return a call with this many seconds left."""
    return Call(SystemClock().now(), SystemClock().monotonic() + seconds)


def change(size: int, state: TargetState | int) -> ScaleChange:
    """Return a decision for `size` from `state`, or from a size alone."""
    seen, revision = (state, None) if isinstance(state, int) else (state.replicas, state.revision)
    return ScaleChange("decision", size, seen, revision, "a test says so")


def state_of(swarm: DockerSwarm, name: str) -> TargetState:
    """Return a service's state. Fail the test when it is an error."""
    found = swarm.observe([ref(name)], call())[ref(name)]
    assert isinstance(found, TargetState), found
    return found


def wait_state(swarm: DockerSwarm, name: str, wanted: Callable[[TargetState], Any], within: float = 60) -> TargetState:
    """Return the first wanted state. Fail the test after `within` seconds with the last state."""
    seen: list[TargetState] = []

    def look() -> Any:
        seen[:] = [state_of(swarm, name)]
        return wanted(seen[0])

    until(look, lambda: f"last seen: {seen}", within, every_seconds=0.1)
    return seen[0]
