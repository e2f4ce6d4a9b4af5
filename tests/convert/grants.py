"""The settings of discovered policies."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from autoscaler.config.loader import load
from autoscaler.config.settings import Settings

GRANT: Final[Mapping[str, Any]] = {
    "namePrefix": "shop.",
    "maxReplicas": 8,
    "labels": {"team": "shop"},
    "adapters": ["nomad"],
    "namespaces": ["shop"],
    "targets": ["cache/*", "web/web"],
    "sources": ["shop"],
    "maxQueries": 5,
}


def settings(folder: Path, *, live: bool = True, **grant: Any) -> Settings:
    """Return a configuration whose connection discovers policies under GRANT with other keys."""
    file = folder / "autoscaler.yaml"
    content = {
        "prometheus": {"default": {"url": "http://ours:9090"}, "shop": {"url": "http://shop:9090"}},
        "adapters": {"nomad": {"type": "nomad", "discover": {"policies": True, "live": live}}},
        "grants": {"shop": {**GRANT, **grant}},
        "autoscalers": [],
    }
    file.write_text(yaml.safe_dump(content))
    return load(file)
