"""Short ways to the values that these tests are about."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from adapters.docker_swarm import DockerSwarm
from autoscaler.clock import SystemClock
from autoscaler.model import Call, ScaleChange, TargetRef, TargetState
from autoscaler.target.contract import make_context

Connect: TypeAlias = Callable[..., DockerSwarm]
"""`connect(host, tls={...})`: an adapter on that host."""


def adapter(folder: Path, *, dry_run: bool = False, **section: Any) -> DockerSwarm:
    """An adapter on a section of the configuration, keys as in YAML."""
    return DockerSwarm(make_context(DockerSwarm.Settings.model_validate(section), folder, dry_run=dry_run))


def ref(name: str) -> TargetRef:
    """A service of the connection `swarm`."""
    return TargetRef("swarm", name)


def call(seconds: float = 20) -> Call:
    """A call with so many seconds from now."""
    return Call(SystemClock().now(), SystemClock().monotonic() + seconds)


def change(size: int, state: TargetState | int) -> ScaleChange:
    """A decision for `size`, made from `state`, or from a size alone."""
    seen, revision = (state, None) if isinstance(state, int) else (state.replicas, state.revision)
    return ScaleChange("decision", size, seen, revision, "a test says so")


def state_of(swarm: DockerSwarm, name: str) -> TargetState:
    """A service's state; fails the test when it is an error."""
    found = swarm.observe([ref(name)], call())[ref(name)]
    assert isinstance(found, TargetState), found
    return found


def wait_state(swarm: DockerSwarm, name: str, wanted: Callable[[TargetState], Any], within: float = 60) -> TargetState:
    """The first state that is wanted. Fails the test after `within` seconds, saying what was seen last."""
    end = time.monotonic() + within
    while not wanted(found := state_of(swarm, name)):
        assert time.monotonic() < end, f"not within {within:g} s; last seen: {found}"
        time.sleep(0.1)
    return found
