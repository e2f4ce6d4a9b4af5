"""What updates of a service mean for its size: rollouts that scaling must not disturb, and deployments that set it."""

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from adapters.docker_swarm.raw import Raw
from autoscaler.target import Deployment, Hold, HoldReason

REMEDY: Final = (
    "update the service with `docker service update --image`, or give `docker stack deploy` the present size, as "
    "`autoscaler get NAME -o size` prints it"
)
_ROLLOUTS: Final = {
    "updating": "RolloutInProgress",
    "paused": "RolloutPaused",
    "rollback_started": "RollbackInProgress",
    "rollback_paused": "RollbackPaused",
}
"""UpdateStatus.State of a rollout that scaling must not disturb -> reason."""
_FORWARD: Final = frozenset({"updating", "paused"})


class OnRollout(StrEnum):
    """What waits for the end of a rollout."""

    HOLD = "hold"
    """All scaling. A new spec would replace the spec that the rollout rolls back to."""
    ALLOW_SCALE_OUT = "allowScaleOut"
    """Scale-in alone. A rollback then returns to the new image with the old size."""


def rollout(service: Raw, on_rollout: OnRollout = OnRollout.HOLD) -> Hold:
    """Return the hold of a rollout or rollback that is under way or paused. A rollback holds both directions."""
    status = service.get("UpdateStatus") or {}
    state = status.get("State", "")
    if state not in _ROLLOUTS:
        return Hold()
    message = f" ({status['Message']})" if status.get("Message") else ""
    reason = HoldReason(
        _ROLLOUTS[state], f"the service's rollout is in state {state}{message}; scaling waits for its end"
    )
    is_free = on_rollout is OnRollout.ALLOW_SCALE_OUT and state in _FORWARD
    return Hold(scale_out=None if is_free else reason, scale_in=reason)


def rollout_warning(service: Raw, on_rollout: OnRollout) -> str | None:
    """Return a warning while a rollout is under way and `allowScaleOut` permits a scale-out; else None."""
    hold = rollout(service, on_rollout)
    if hold.scale_in is None or hold.scale_out is not None:
        return None
    return "a rollout is under way: a scale-out replaces the specification that it would roll back to (onRollout)"


def deployment(service: Raw) -> Deployment | None:
    """Return the deployment that set the size; None: the last change was of the size alone, or it is not known.

    Swarm keeps the specification before the last change, whoever made it; none after an automatic rollback.
    """
    spec, before = service["Spec"], service.get("PreviousSpec")
    is_rollback = (service.get("UpdateStatus") or {}).get("State", "").startswith("rollback")
    if not before:
        return Deployment(service["ID"], 0, "", rollback=is_rollback)
    if _without_size(spec) == _without_size(before):
        return None
    size = (before.get("Mode", {}).get("Replicated") or {}).get("Replicas")
    if type(size) is not int:
        return None
    both = json.dumps([spec, before], sort_keys=True).encode()
    return Deployment(hashlib.sha256(both).hexdigest()[:16], size, REMEDY, is_rollback)


def reset_by(service: Raw) -> str:
    """Return which stack sets the size at its next deployment, and the remedy; empty: none."""
    stack = (service["Spec"].get("Labels") or {}).get("com.docker.stack.namespace")
    return f"`docker stack deploy` of the stack {stack} sets the size that its file says; {REMEDY}" if stack else ""


def _without_size(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in spec.items() if key != "Mode"}
