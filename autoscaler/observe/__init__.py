"""Observes: Prometheus' answers and the targets' states, joined into one observation for each autoscaler."""

from autoscaler.observe.ask import QueryMeter
from autoscaler.observe.gate import Gates
from autoscaler.observe.observer import Observer
from autoscaler.observe.queries import AskedAlone, Queries
from autoscaler.observe.targets import Connection

__all__ = ["AskedAlone", "Connection", "Gates", "Observer", "Queries", "QueryMeter"]
