"""Durable state and history: what autoscalers remember, and every decision with its reasons."""

from autoscaler.record.archive import Archive
from autoscaler.record.sightings import KeptSightings
from autoscaler.record.store import Store
from autoscaler.record.values import EventRow, MetricPoint, Record, SeriesRow, StateSize

__all__ = ["Archive", "EventRow", "KeptSightings", "MetricPoint", "Record", "SeriesRow", "StateSize", "Store"]
