"""When cycles run: APScheduler, a lane for each adapter connection."""

from autoscaler.schedule.batch import Batch
from autoscaler.schedule.lane import LONGEST_CYCLE, Lane, Work
from autoscaler.schedule.lanes import Lanes, wait_for
from autoscaler.schedule.stop import NoThread, Stop, Stopping, settle, within

__all__ = [
    "LONGEST_CYCLE",
    "Batch",
    "Lane",
    "Lanes",
    "NoThread",
    "Stop",
    "Stopping",
    "Work",
    "settle",
    "wait_for",
    "within",
]
