"""Reads Prometheus and the targets, and joins the results into one observation per autoscaler."""

from autoscaler.observe.gate import Gates
from autoscaler.observe.observer import Observer, query_seconds
from autoscaler.observe.prometheus import Connect, Prometheus
from autoscaler.observe.queries import AskedAlone, Queries
from autoscaler.observe.targets import Connection

__all__ = ["AskedAlone", "Connect", "Connection", "Gates", "Observer", "Prometheus", "Queries", "query_seconds"]
