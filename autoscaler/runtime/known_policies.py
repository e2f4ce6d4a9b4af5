"""What is known of the policies that a connection's back end has.

An outage, a lost right or a list that is suddenly empty must not end the scaling of what is known. So a policy is let
go only when the back end says of this one target that it, or its policy, is gone.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from autoscaler.errors import TargetError, TargetNotFound
from autoscaler.model import TargetRef
from autoscaler.target import Discovery

Policy: TypeAlias = Mapping[str, Any]
"""An object that `autoscaler import` reads."""


@dataclass(frozen=True, slots=True)
class KnownPolicies:
    """The policies of a connection, as last known."""

    policies: Mapping[TargetRef, Policy] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    """Namespace, or NAMESPACE/NAME of a target -> why nothing new is known of it. What was known is kept."""
    at: datetime | None = None
    """When the back end last answered; None: it has not."""

    def after(self, answer: Discovery | TargetError, namespaces: Collection[str], now: datetime) -> "KnownPolicies":
        """Return what is known after an answer for these namespaces.

        Policies of other namespaces, which are not granted any more, are let go.
        """
        policies = {target: policy for target, policy in self.policies.items() if target.namespace in namespaces}
        if isinstance(answer, TargetError):
            return KnownPolicies(policies, dict.fromkeys(namespaces, str(answer)), self.at)
        failures = {name: str(error) for name, error in answer.failures.items()}
        for target, found in answer.policies.items():
            if isinstance(found, TargetNotFound):
                policies.pop(target, None)
            elif isinstance(found, TargetError):
                failures[f"{target.namespace}/{target.name}"] = str(found)
            elif found != policies.get(target):  # an equal one stays the same object, which is not converted again
                policies[target] = found
        return KnownPolicies(policies, failures, now)
