"""The daemon's own metrics, for Prometheus. Their help texts are the site's list of metrics."""

from autoscaler.metrics.adapter import metered
from autoscaler.metrics.grants import watch_grants
from autoscaler.metrics.health import Health
from autoscaler.metrics.metrics import Metrics
from autoscaler.metrics.text import CONTENT_TYPE, exposition
from autoscaler.metrics.watch import (
    watch_discovery,
    watch_leadership,
    watch_log,
    watch_queries,
    watch_shards,
    watch_state,
)

__all__ = [
    "CONTENT_TYPE",
    "Health",
    "Metrics",
    "exposition",
    "metered",
    "watch_discovery",
    "watch_grants",
    "watch_leadership",
    "watch_log",
    "watch_queries",
    "watch_shards",
    "watch_state",
]
