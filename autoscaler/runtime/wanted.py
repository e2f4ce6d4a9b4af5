"""What a configuration asks for, shard by shard."""

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace

from autoscaler.config.settings import AdapterSection, PrometheusSource, Settings
from autoscaler.errors import ConfigError, Problem
from autoscaler.model import Autoscaler, ConnectionLimits, ShardName, TargetRef
from autoscaler.record import shard_of, slot_of


@dataclass(frozen=True, slots=True)
class WantedAdapter:
    """What a shard's adapter is built from; an equal one does not cause a new adapter."""

    section: AdapterSection
    dry_run: bool
    """All the shard's autoscalers are, those of other daemons too: it changes with the configuration alone."""
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

    def within(self, slots: Container[int]) -> "Wanted":
        """The same shard with those of its autoscalers alone whose target falls into one of these slots."""
        return replace(self, scalers=[scaler for scaler in self.scalers if slot_of(scaler.target) in slots])


def wanted_shards(settings: Settings, host: str | None = None) -> Mapping[ShardName, Wanted]:
    """Every shard that has autoscalers: one without has nothing to do.

    `host`: this machine's name; None: all connections are served here, those of other machines too.
    """
    scalers: dict[ShardName, list[Autoscaler]] = {}
    for scaler in settings.autoscalers:
        if host is not None and settings.adapters[scaler.target.adapter].host not in (None, host):
            continue
        adapter, shards = scaler.target.adapter, settings.adapters[scaler.target.adapter].shards
        number = 1 + shard_of(scaler.target, shards) if shards > 1 else 1
        scalers.setdefault(ShardName(adapter, number, shards), []).append(scaler)
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
        for name, used in scalers.items()
    }


def needed_slots(wanted: Mapping[ShardName, Wanted]) -> Mapping[str, Collection[int]]:
    """Adapter connection -> the slots that some autoscaler of it falls into."""
    needs: dict[str, set[int]] = {}
    for name, shard in wanted.items():
        needs.setdefault(name.adapter, set()).update(slot_of(scaler.target) for scaler in shard.scalers)
    return needs


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
