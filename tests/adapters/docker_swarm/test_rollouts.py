"""Scaling during a rollout would destroy its rollback target: tested on a real engine in each state."""

from collections.abc import Callable
from typing import Any

import pytest

from adapters.docker_swarm import DockerSwarm
from autoscaler.model import Conflict, Held, Hold, TargetState, Written
from tests.adapters.docker_swarm.build import Connect, call, change, ref, wait_state
from tests.servers.docker import Engine, wait_for

pytestmark = pytest.mark.slow

SLOW = {"Parallelism": 1, "Delay": 600_000_000_000}
"""One task, then a pause longer than any test."""
FAILING = {"TaskTemplate": {"ContainerSpec": {"Command": ["false"]}, "RestartPolicy": {"Condition": "none"}}}
CHANGED = {"TaskTemplate": {"ContainerSpec": {"Env": ["NEW=1"]}}}


def begin_rollout(engine: Engine) -> None:
    engine.update("web", UpdateConfig=SLOW, **CHANGED)


def begin_rollout_that_fails(engine: Engine) -> None:
    engine.update("web", UpdateConfig={"Parallelism": 1, "FailureAction": "pause"}, **FAILING)


def begin_rollback(engine: Engine) -> None:
    before = engine.running("web")
    engine.update("web", UpdateConfig={"Parallelism": 0}, RollbackConfig=SLOW)
    engine.update("web", **CHANGED)
    wait_for(lambda: len(engine.running("web").keys() - before.keys()) == 3, "three new tasks")
    engine.roll_back("web")


@pytest.mark.parametrize(
    ("begin", "reason"),
    [
        (begin_rollout, "RolloutInProgress"),
        (begin_rollout_that_fails, "RolloutPaused"),
        (begin_rollback, "RollbackInProgress"),
    ],
)
def test_a_rollout_under_way_holds_scaling(
    engine: Engine, swarm: DockerSwarm, begin: Callable[[Engine], None], reason: str
) -> None:
    """Both directions wait, and nothing is posted. A decision that saw another specification is void."""
    with engine.service("web", Mode={"Replicated": {"Replicas": 3}}):
        engine.wait_running("web", 3)
        calm = wait_state(swarm, "web", lambda state: state.hold == Hold())
        begin(engine)
        busy = wait_state(swarm, "web", lambda state: held(state) == reason)
        assert busy.hold.scale_in == busy.hold.scale_out
        before = specs(engine)
        outcome = swarm.scale(ref("web"), change(5, busy), call())
        assert isinstance(outcome, Held)
        assert outcome.hold.reason == reason
        if calm.revision != busy.revision:  # a rollback may be back at the specification that the decision saw
            assert isinstance(swarm.scale(ref("web"), change(5, calm), call()), Conflict)
        assert specs(engine) == before


def test_a_scale_out_in_mid_rollout_is_written_if_that_is_preferred(engine: Engine, connect: Connect) -> None:
    """Tasks of the new image are added, and a scale-in still waits."""
    swarm = connect(engine.host, onRollout="allowScaleOut")
    with engine.service("web", Mode={"Replicated": {"Replicas": 3}}):
        engine.wait_running("web", 3)
        begin_rollout(engine)
        busy = wait_state(swarm, "web", lambda state: held(state) == "RolloutInProgress")
        assert isinstance(swarm.scale(ref("web"), change(2, busy), call()), Held)
        assert swarm.scale(ref("web"), change(5, busy), call()) == Written(5)
        engine.wait_running("web", 5)


def test_an_update_that_also_sets_the_size_is_a_deployment(engine: Engine, swarm: DockerSwarm) -> None:
    """`docker stack deploy` does this. A change of only the size is not a deployment."""
    with engine.service("web", Mode={"Replicated": {"Replicas": 1}}):
        engine.wait_running("web", 1)
        state = wait_state(swarm, "web", lambda state: state.hold == Hold())
        assert state.deployment is not None
        assert state.deployment.before == 0
        assert swarm.scale(ref("web"), change(3, state), call()) == Written(3)
        assert wait_state(swarm, "web", lambda state: state.replicas == 3).deployment is None
        engine.update("web", Mode={"Replicated": {"Replicas": 1}}, **CHANGED)
        state = wait_state(swarm, "web", lambda state: state.replicas == 1)
        assert state.deployment is not None
        assert (state.deployment.before, state.deployment.rollback) == (3, False)
        state = wait_state(swarm, "web", lambda state: state.hold == Hold())
        assert state.deployment is not None
        engine.roll_back("web")
        rolled_back = wait_state(swarm, "web", lambda state: state.replicas == 3).deployment
        assert rolled_back is not None
        assert rolled_back.rollback


def held(state: TargetState) -> str | None:
    return state.hold.scale_in.reason if state.hold.scale_in is not None else None


def specs(engine: Engine) -> tuple[Any, Any]:
    """Return the current spec and the spec to roll back to."""
    service = engine.client.inspect_service("web")
    return service["Spec"], service.get("PreviousSpec")
