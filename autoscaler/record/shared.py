"""What the ledgers of one process share, and what a cycle recalls from one."""

from dataclasses import dataclass
from typing import NoReturn

from sqlalchemy import Engine

from autoscaler.errors import StateError
from autoscaler.model import History, ShardName
from autoscaler.record.database import Database
from autoscaler.record.entries import Key, Newest
from autoscaler.record.housekeeping import Housekeeper
from autoscaler.record.leases import Leases
from autoscaler.record.steering import SteeringCache


@dataclass(frozen=True, slots=True)
class Shared:
    """What all ledgers of a process share."""

    database: Database
    readers: Engine
    steering: SteeringCache
    housekeeper: Housekeeper
    newest: dict[ShardName, int]
    """Shard -> the newest epoch that this process began."""
    leases: Leases | None
    """PostgreSQL: which shards this process holds."""
    latest: dict[Key, Newest]
    """What was committed last about each autoscaler, for readers: they never wait for a shard."""


class Histories(dict[str, History]):
    """By the autoscaler's name."""

    def __init__(self) -> None:
        super().__init__()
        self.damaged: dict[str, str] = {}
        """Name -> what is wrong with its record, and what to do."""

    def __missing__(self, name: str) -> NoReturn:
        if name in self.damaged:
            raise StateError(self.damaged[name])
        raise KeyError(name)
