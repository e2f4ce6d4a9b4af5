"""Observes: Prometheus' answers and the targets' states, joined into one observation for each autoscaler."""

from autoscaler.observe.ask import Meter
from autoscaler.observe.observer import Observer
from autoscaler.observe.targets import Connection

__all__ = ["Connection", "Meter", "Observer"]
