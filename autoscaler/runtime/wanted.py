"""The shards that a configuration asks for."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from autoscaler.config.settings import AdapterSection, PrometheusSource, Settings
from autoscaler.model import Autoscaler, ConnectionLimits, ShardName, TargetRef, shard_of
from autoscaler.rules.drain import DrainRule
from autoscaler.target.scaled import Identify


@dataclass(frozen=True, slots=True)
class WantedAdapter:
    """The arguments of a shard's adapter. The adapter is built again only if they change."""

    section: AdapterSection
    dry_run: bool
    """Whether all the shard's autoscalers are dry runs."""
    dry_targets: frozenset[TargetRef]
    """The targets of its dry runs, where the adapter replaces instances itself."""
    drains: Mapping[TargetRef, str | None]
    """The targets whose instances are drained, with the hook that the configuration names."""
    nodes: Mapping[str, AdapterSection]
    """The connections whose nodes are drained for these targets."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One shard of a configuration."""

    adapter: WantedAdapter
    scalers: Sequence[Autoscaler]
    """At least one."""
    sources: Mapping[str, PrometheusSource]
    limits: ConnectionLimits
    """Limits of the whole connection."""
    identify: Identify = field(compare=False)
    """Returns what an autoscaler scales. It follows from the connections' sections."""


def by_shard(settings: Settings) -> Mapping[ShardName, Sequence[Autoscaler]]:
    """Return the autoscalers of every shard that has any, in their order."""
    found: dict[ShardName, list[Autoscaler]] = {}
    for scaler in settings.autoscalers:
        name = shard_of(scaler.target, settings.adapters[scaler.target.adapter].shards)
        found.setdefault(name, []).append(scaler)
    return found


def wanted_shards(settings: Settings, scaled: Identify) -> Mapping[ShardName, Wanted]:
    """Return every shard that has autoscalers. `scaled`: the result of `Settings.identify`."""
    return {
        name: Wanted(
            WantedAdapter(
                settings.adapters[name.adapter],
                dry_run=all(scaler.dry_run for scaler in used),
                dry_targets=frozenset(
                    scaler.target for scaler in used if scaler.dry_run and settings.adapters[name.adapter].one_host
                ),
                drains={
                    scaler.target: rule.hook for scaler in used if (rule := scaler.rules.find(DrainRule)) is not None
                },
                nodes={name: settings.adapters[name] for name in _nodes_of(used)},
            ),
            used,
            settings.prometheus,
            settings.limits.get(name.adapter, ConnectionLimits()),
            scaled,
        )
        for name, used in by_shard(settings).items()
    }


def _nodes_of(scalers: Sequence[Autoscaler]) -> Collection[str]:
    """Return the connections whose nodes are drained for these autoscalers."""
    rules = [scaler.rules.find(DrainRule) for scaler in scalers]
    return {rule.nomad.adapter for rule in rules if rule is not None and rule.nomad is not None}
