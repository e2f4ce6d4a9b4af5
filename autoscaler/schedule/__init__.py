"""When cycles run: APScheduler, a shard for each adapter connection."""

from autoscaler.schedule.batch import Batch
from autoscaler.schedule.shard import LONGEST_CYCLE, Shard, Work
from autoscaler.schedule.shards import Shards, wait_for
from autoscaler.schedule.stop import NoThread, Stop, Stopping, settle, within

__all__ = [
    "LONGEST_CYCLE",
    "Batch",
    "NoThread",
    "Shard",
    "Shards",
    "Stop",
    "Stopping",
    "Work",
    "settle",
    "wait_for",
    "within",
]
