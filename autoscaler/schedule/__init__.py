"""The schedule of cycles, on APScheduler, with one shard per part of an adapter connection."""

from autoscaler.schedule.shard import MAX_CYCLE, Shard, Work
from autoscaler.schedule.shards import Shards, wait_for

__all__ = [
    "MAX_CYCLE",
    "Shard",
    "Shards",
    "Work",
    "wait_for",
]
