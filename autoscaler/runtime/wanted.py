"""What a configuration asks for, lane by lane."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autoscaler.config.settings import AdapterSection, PrometheusSource, Settings
from autoscaler.model import Autoscaler, ConnectionLimits, LaneName, TargetRef
from autoscaler.record import lane_of


@dataclass(frozen=True, slots=True)
class WantedAdapter:
    """What a lane's adapter is built from; an equal one does not cause a new adapter."""

    section: AdapterSection
    dry_run: bool
    """All the lane's autoscalers are."""
    dry_targets: frozenset[TargetRef]
    """Those of its autoscalers that are, one by one."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One lane, as a configuration asks for it."""

    adapter: WantedAdapter
    scalers: Sequence[Autoscaler]
    """At least one."""
    sources: Mapping[str, PrometheusSource]
    limits: ConnectionLimits
    """The whole connection's."""


def wanted_lanes(settings: Settings) -> Mapping[LaneName, Wanted]:
    """Every lane that has autoscalers: one without has nothing to do."""
    scalers: dict[LaneName, list[Autoscaler]] = {}
    for scaler in settings.autoscalers:
        adapter, lanes = scaler.target.adapter, settings.adapters[scaler.target.adapter].lanes
        number = 1 + lane_of(scaler.target, lanes) if lanes > 1 else 1
        scalers.setdefault(LaneName(adapter, number, lanes), []).append(scaler)
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
