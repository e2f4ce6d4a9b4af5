"""What is known of the policies that a connection's back end has.

An outage, a lost right or a list that is suddenly empty must not end the scaling of what is known. So a policy is let
go only when the back end says of this one target that it, or its policy, is gone.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from autoscaler.config.origins import Origin, settled
from autoscaler.config.settings import Settings
from autoscaler.convert.discovered import Policy, TargetPolicy
from autoscaler.errors import TargetError, TargetNotFound
from autoscaler.model import TargetRef
from autoscaler.target import Discovery


@dataclass(frozen=True, slots=True)
class KnownPolicies:
    """The policies of a connection, as last known, under one configuration."""

    main: Settings
    """That of the main file alone."""
    origins: Mapping[TargetRef, Origin[TargetPolicy]] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    """Namespace, or NAMESPACE/NAME of a target -> why nothing new is known of it. What was known is kept."""
    at: datetime | None = None
    """When the back end last answered; None: it has not."""

    def under(self, main: Settings) -> "KnownPolicies":
        """Return the same under this configuration."""
        newest = {target: each.newest for target, each in self.origins.items()}
        return replace(self, main=main, origins=settled(main, self.main, self.origins, newest))

    def after(self, answer: Discovery | TargetError, namespaces: Collection[str], now: datetime) -> "KnownPolicies":
        """Return what is known after an answer for these namespaces.

        Policies of other namespaces, which are not granted any more, are let go.
        """
        policies = {key: each.newest.policy for key, each in self.origins.items() if key.namespace in namespaces}
        if isinstance(answer, TargetError):
            return self._with(policies, dict.fromkeys(namespaces, str(answer)), self.at)
        failures = {name: str(error) for name, error in answer.failures.items()}
        for target, found in answer.policies.items():
            if isinstance(found, TargetNotFound):
                policies.pop(target, None)
            elif isinstance(found, TargetError):
                failures[f"{target.namespace}/{target.name}"] = str(found)
            else:
                policies[target] = found
        return self._with(policies, failures, now)

    def _with(
        self, policies: Mapping[TargetRef, Policy], failures: Mapping[str, str], at: datetime | None
    ) -> "KnownPolicies":
        often = Counter(map(_named, policies))
        newest: dict[TargetRef, TargetPolicy] = {}
        for target, policy in policies.items():
            known, one = self.origins.get(target), TargetPolicy(target, policy, often[_named(target)] > 1)
            newest[target] = known.newest if known is not None and known.newest == one else one
        return KnownPolicies(self.main, settled(self.main, self.main, self.origins, newest), failures, at)


def _named(target: TargetRef) -> TargetRef:
    """Return the target without what only its back end tells apart."""
    return replace(target, parts=())
