"""What a configuration asks for, shard by shard."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autoscaler.config.settings import AdapterSection, PrometheusSource, Settings
from autoscaler.errors import ConfigError, Problem
from autoscaler.model import Autoscaler, ConnectionLimits, ShardName, TargetRef, shard_of


@dataclass(frozen=True, slots=True)
class WantedAdapter:
    """What a shard's adapter is built from; an equal one does not cause a new adapter."""

    section: AdapterSection
    dry_run: bool
    """All the shard's autoscalers are."""
    dry_targets: frozenset[TargetRef]
    """Those of its autoscalers that are, one by one."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One shard, as a configuration asks for it."""

    adapter: WantedAdapter
    scalers: Sequence[Autoscaler]
    """At least one."""
    sources: Mapping[str, PrometheusSource]
    limits: ConnectionLimits
    """The whole connection's."""


def by_shard(settings: Settings) -> Mapping[ShardName, Sequence[Autoscaler]]:
    """The autoscalers of every shard that has any, in their order: one without has nothing to do."""
    found: dict[ShardName, list[Autoscaler]] = {}
    for scaler in settings.autoscalers:
        name = shard_of(scaler.target, settings.adapters[scaler.target.adapter].shards)
        found.setdefault(name, []).append(scaler)
    return found


def wanted_shards(settings: Settings, host: str | None = None) -> Mapping[ShardName, Wanted]:
    """Every shard that has autoscalers.

    `host`: this machine's name; None: all connections are served here, those of other machines too.
    """
    return {
        name: Wanted(
            WantedAdapter(
                settings.adapters[name.adapter],
                dry_run=all(scaler.dry_run for scaler in used),
                dry_targets=frozenset(scaler.target for scaler in used if scaler.dry_run),
            ),
            used,
            settings.prometheus,
            settings.limits.get(name.adapter, ConnectionLimits()),
        )
        for name, used in by_shard(settings).items()
        if host is None or settings.adapters[name.adapter].host in (None, host)
    }


def refuse_other_hosts(settings: Settings, host: str) -> None:
    """Raise ConfigError for a connection of another machine, where the daemon on `host` is the only one."""
    for name in sorted({scaler.target.adapter for scaler in settings.autoscalers}):
        where = settings.adapters[name].host
        if where not in (None, host):
            problem = (
                f"its targets are on {where}, and this is {host}; run the daemon there, or let daemons of both share a "
                "PostgreSQL state (docs/hosts.md)"
            )
            raise ConfigError([Problem(str(settings.path), 1, 1, f"adapters.{name}.host", problem)])
