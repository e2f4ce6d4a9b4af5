"""When cycles run: APScheduler, a shard for each adapter connection."""

from autoscaler.schedule.shard import LONGEST_CYCLE, Shard, Work
from autoscaler.schedule.shards import Shards, wait_for

__all__ = [
    "LONGEST_CYCLE",
    "Shard",
    "Shards",
    "Work",
    "wait_for",
]
