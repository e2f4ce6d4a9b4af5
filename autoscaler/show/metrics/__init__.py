"""The daemon's own metrics, for Prometheus. docs/metrics.md lists them."""

from autoscaler.show.metrics.adapter import metered
from autoscaler.show.metrics.metrics import Cycle, Metrics
from autoscaler.show.metrics.text import CONTENT_TYPE, exposition
from autoscaler.show.metrics.watch import watch_lanes, watch_state

__all__ = ["CONTENT_TYPE", "Cycle", "Metrics", "exposition", "metered", "watch_lanes", "watch_state"]
