"""The configuration: a good autoscaler and bad ones on one connection, many on a slow one, pools of workers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.daemon.running import autoscaler, external, mark, write_config
from tests.servers.ports import free_port

BAD: Final = ("aged", "bad", "joined", "vast")
"""The bad autoscalers: on the good one's connection, with metrics of the hostile Prometheus."""
CROWD: Final = tuple(f"crowd-{number:02}" for number in range(12))
"""Autoscalers on a connection with slow writes."""
WINDOWED: Final = "windowed"
"""Its load has fallen, and a window of an hour keeps it at WINDOWED_SIZE."""
WINDOWED_SIZE: Final = 8
CALM: Final[Mapping[str, float]] = {
    "aged_load": 3,
    "bad_load": 5,
    "joined_each": 1,
    "vast_load": 0.003,
    "crowd_load": 2,
    "drain_load": 2,
    "loud_load": 1,
}
"""The value of each series on an ordinary day."""
_WRITE_SECONDS: Final = 0.4
_AT_ONCE: Final = {"stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 100, "periodSeconds": 1}]}
BEHAVIOR: Final = {"scaleUp": _AT_ONCE, "scaleDown": _AT_ONCE}

_DRAINS: Final = 'trap "sleep $((PORT % 2 * 3 + 2)); exit" TERM; while :; do sleep 0.2; done'
"""A worker that stops after 2 or 5 s, depending on its port."""
_LOUD: Final = (
    "import os, sys, time\n"
    "while not os.path.exists(sys.argv[1]): time.sleep(0.1)\n"
    "os.write(1, b'x' * 150_000_000)\n"
    "time.sleep(3600)"
)
"""A worker that writes 150 MB at once on request."""


def write(
    folder: Path, good: str, hostile: str, period_seconds: float, web: Mapping[str, Any]
) -> tuple[Path, Sequence[str]]:
    """Write the configuration's file. Returns the names of all autoscalers.

    `good`, `hostile`: URLs; `web`: the section of this name.
    """
    more: dict[str, Any] = {"syncPeriod": f"{period_seconds:g}s", "maxReplicas": 50, "behavior": BEHAVIOR}

    def scaler(name: str, metric: Mapping[str, Any], adapter: str = "shared", **other: Any) -> dict[str, Any]:
        return autoscaler(name, "", adapter, **(more | {"metrics": [metric]} | other))

    hourly = {"scaleUp": _AT_ONCE, "scaleDown": {"stabilizationWindowSeconds": 3600}}
    scalers = [
        scaler("bad", _hostile(external("bad_load"))),
        scaler("aged", _hostile(external("aged_load"), maxAge="1m")),
        scaler("joined", _hostile(_joined())),
        scaler("vast", _hostile(external("vast_load", "1m"))),
        scaler(WINDOWED, external(f"{WINDOWED}_load"), behavior=hourly),
        scaler("good", external("good_load")),
        *[scaler(name, external("crowd_load"), "crowd") for name in CROWD],
        scaler("drain", external("drain_load"), "local"),
        scaler("loud", external("loud_load"), "local"),
    ]
    targets = folder / "targets"
    targets.mkdir(mode=0o777)
    first = free_port()
    pools = {
        "drain": {
            "command": ["sh", "-c", _DRAINS],
            "env": mark(folder),
            "ports": f"{min(first, 65_000)}-{min(first, 65_000) + 200}",
            "targetsFile": str(targets / "drain.json"),
        },
        "loud": {"command": ["python3", "-c", _LOUD, str(folder / "loud")], "env": mark(folder)},
    }
    config = write_config(
        folder,
        {"default": {"url": good, "timeout": f"{period_seconds:g}s"}, "hostile": {"url": hostile, "timeout": "500ms"}},
        scalers,
        {
            "local": {"type": "process", "pools": pools},
            "shared": {"type": "odd", "folder": str(folder)},
            "crowd": {"type": "odd", "folder": str(folder), "seconds": _WRITE_SECONDS},
        },
        **({"web": web} if web else {}),
    )
    return config, [scaler["name"] for scaler in scalers]


def _hostile(metric: dict[str, Any], **query: str) -> dict[str, Any]:
    """Return the metric, with the hostile server as its source."""
    (body,) = [value for value in metric.values() if isinstance(value, dict)]
    body["query"] |= {"prometheus": "hostile"} | query
    return metric


def _joined() -> dict[str, Any]:
    """Return a metric whose samples belong to instances."""
    target = {"type": "AverageValue", "averageValue": 1}
    return {"type": "Pods", "pods": {"metric": {"name": "each"}, "query": {"expr": "joined_each"}, "target": target}}
