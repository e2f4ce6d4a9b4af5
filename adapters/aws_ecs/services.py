"""A described service as the adapter contract's types.

Sources: ECS API Reference, Service, Deployment and TaskSet; ECS Developer Guide, "Automatically scale your Amazon ECS
service" (a deployment in progress stops scale-in and lets scale-out pass, except with an external deployment
controller), "How the Amazon ECS deployment circuit breaker detects failures" and "CodeDeploy blue/green deployments
for Amazon ECS" (scaling during a deployment may make it fail).
"""

from typing import Final

from adapters.aws import templates
from adapters.aws.raw import Raw, unavailable_if_malformed
from autoscaler.target import Hold, HoldReason, TargetNotFound, TargetNotScalable

_ROLLS_BACK: Final = "rolling back"
"""Part of the rolloutStateReason of a deployment that replaces one that failed."""


def not_found(name: str, region: str) -> TargetNotFound:
    """Return the error for a service that AWS does not list, or whose cluster it does not list."""
    return TargetNotFound(f"ECS service {name} does not exist in {region}; create it, or correct the name or region")


def scalable(name: str, service: Raw, region: str) -> Raw:
    """Return the service. Raises TargetError if it cannot be scaled."""
    with unavailable_if_malformed(f"service {name}"):
        _ = service["status"], service["desiredCount"], hold(service), reset_by(service)
    if service["status"] == "INACTIVE":
        raise not_found(name, region)
    problem = None
    if service["status"] != "ACTIVE":
        problem = "is being deleted"
    elif service.get("schedulingStrategy") == "DAEMON":
        problem = "runs one task on each container instance (DAEMON); only a REPLICA service has a size"
    elif (service.get("deploymentController") or {}).get("type") == "EXTERNAL":
        problem = "has an external deployment controller, which sizes its task sets"
    if problem is not None:
        raise TargetNotScalable(f"ECS service {name} {problem}; remove its autoscaler")
    return service


def hold(service: Raw) -> Hold:
    """Return which directions wait for the service's deployment, and why.

    Without a rolloutState (Classic Load Balancer), an older deployment that still has tasks counts as in progress.
    """
    deployments, sets = service["deployments"], service.get("taskSets") or ()
    rolling = [one for one in deployments if one["status"] == "ACTIVE" or one.get("rolloutState") == "IN_PROGRESS"]
    for one in deployments:
        why = one.get("rolloutStateReason") or ""
        if one.get("rolloutState") == "FAILED" or (one in rolling and _ROLLS_BACK in why):
            reason = HoldReason("DeploymentFailed", f"deployment {one['id']} failed or is rolled back: {why}")
            return Hold(reason, reason)
    if len(sets) > 1:
        names = " and ".join(one["id"] for one in sets)
        reason = HoldReason("DeploymentInProgress", f"CodeDeploy is replacing a task set ({names}); scaling waits")
        return Hold(reason, reason)
    if rolling:
        return Hold(
            scale_in=HoldReason("DeploymentInProgress", "a deployment is in progress; scale-in waits for its end")
        )
    return Hold()


def reset_by(service: Raw) -> str:
    """Return which template sets the size at its next deployment, and the remedy; empty: no tag names one.

    Source: CloudFormation Template Reference, AWS::ECS::Service: an update omits a DesiredCount that is not specified.
    """
    return templates.reset_by(
        {one["key"]: one.get("value") or "" for one in service.get("tags") or ()},
        cloudformation="remove `DesiredCount` from it",
        terraform="desired_count",
    )
