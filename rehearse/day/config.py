"""The configuration: autoscalers of each kind on three connections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.daemon.running import autoscaler, external, mark, write_config

PERIOD: Final = "1m"
MAX_SIZE: Final = "32MB"
"""The limit of the state. The last hour of all autoscalers, which is never deleted, takes half of it."""
MAX_SIZE_BYTES: Final = 32 * 2**20
INITIAL: Final = 2
"""The number of members of a group that was never scaled."""
_MAX_SIZE: Final = 10
_EACH: Final = 10
"""The load that an instance should take."""
_POOLS: Final = 4
_BEHAVIORS: Final[Sequence[Mapping[str, Any]]] = (
    {},
    {
        "scaleUp": {
            "stabilizationWindowSeconds": 120,
            "policies": [{"type": "Pods", "value": 2, "periodSeconds": 300}],
        },
        "scaleDown": {"policies": [{"type": "Percent", "value": 20, "periodSeconds": 600}]},
    },
    {"scaleDown": {"stabilizationWindowSeconds": 1800, "selectPolicy": "Min"}},
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The values that a reload may change."""

    autoscalers: int
    more: int = 0
    """The number of autoscalers that are added for a while."""
    startup_time: str = "90s"
    """The start-up time of members on `west`. A change of it changes the section, so that its shards begin anew."""


def write(folder: Path, url: str, wanted: Wanted) -> Mapping[str, str]:
    """Write the configuration; returns autoscaler -> its connection.

    A quarter of those on `east` have a metric of each instance, a quarter of those on `west` a second metric, with a
    fallback.
    """
    scalers = []
    for number in range(wanted.autoscalers + wanted.more):
        name = f"s{number:03}"
        adapter = "local" if number < _POOLS else ("east", "west")[number % 2]
        metrics: list[Mapping[str, Any]] = [external(f'load{{service="{name}"}}', _EACH)]
        if adapter == "east" and number % 8 == 0:
            metrics = [_of_instances(name)]
        elif adapter == "west" and number % 8 == 1:
            metrics.append(_with_fallback(external(f'queue{{service="{name}"}}', _EACH)))
        scalers.append(
            autoscaler(
                name,
                "",
                adapter,
                syncPeriod=PERIOD,
                maxReplicas=_MAX_SIZE // 3 if adapter == "local" else _MAX_SIZE,
                metrics=metrics,
                behavior=_BEHAVIORS[number % len(_BEHAVIORS)],
            )
        )
    on = {scaler["name"]: str(scaler["scaleTargetRef"]["adapter"]) for scaler in scalers}
    member = {"initialReplicas": INITIAL}
    write_config(
        folder,
        {"default": {"url": url, "timeout": "30s"}},
        [{key: value for key, value in scaler.items() if value != {}} for scaler in scalers],
        {
            "local": {
                "type": "process",
                "pools": _pools([name for name, adapter in on.items() if adapter == "local"], folder),
            },
            "east": {"type": "memory", "groups": {name: member for name, adapter in on.items() if adapter == "east"}},
            "west": {
                "type": "memory",
                "shards": 2,
                "groups": {
                    name: member | {"startupTime": wanted.startup_time}
                    for name, adapter in on.items()
                    if adapter == "west"
                },
            },
        },
        log={"decisions": "changed"},
        state={"maxSize": MAX_SIZE, "detail": "12h"},
    )
    return on


def _pools(names: Sequence[str], folder: Path) -> Mapping[str, Any]:
    return {name: {"command": ["sleep", "36000"], "env": mark(folder)} for name in names}


def _of_instances(name: str) -> Mapping[str, Any]:
    query = {"expr": f'inflight{{service="{name}"}}'}
    target = {"type": "AverageValue", "averageValue": _EACH}
    return {"type": "Pods", "pods": {"metric": {"name": "inflight"}, "query": query, "target": target}}


def _with_fallback(metric: dict[str, Any]) -> Mapping[str, Any]:
    metric["external"]["fallback"] = {"failureDurationSeconds": 180, "replicas": 3}
    return metric
