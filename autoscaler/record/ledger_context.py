"""What all ledgers of a process use, and what a ledger's `recall` returns."""

from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn

from sqlalchemy import Connection

from autoscaler.errors import StaleLedger, StateError
from autoscaler.model import History, ShardName
from autoscaler.record.claims import Claims
from autoscaler.record.database import Database, Readers
from autoscaler.record.entries import Key
from autoscaler.record.fence import fence, superseded
from autoscaler.record.housekeeping import Housekeeper
from autoscaler.record.lease import Lease
from autoscaler.record.newest import Newest
from autoscaler.record.outbox import Outbox
from autoscaler.record.steering import SteeringCache


@dataclass(frozen=True, slots=True)
class LedgerContext:
    """What all ledgers of a process use."""

    database: Database
    readers: Readers
    steering: SteeringCache
    housekeeper: Housekeeper
    newest: dict[ShardName, str]
    """Shard -> the newest epoch that this process began."""
    claims: Claims
    lease: Lease | None
    """The lease of this process; None on SQLite."""
    latest: dict[Key, Newest]
    """The newest committed decision of each autoscaler of the configuration, for readers."""
    outbox: Outbox

    def fence(self, connection: Connection, name: ShardName, generation: str, epoch: str) -> datetime | None:
        """Return what `fence.fence` returns, or raise StaleLedger. The epoch is then not the newest any more.

        A server that lost commits may have lost the newest epoch. So this process' own knowledge counts, too.
        """
        if self.newest.get(name) != epoch:
            raise superseded(name)
        try:
            return fence(connection, name, generation, epoch)
        except StaleLedger:
            if self.newest.get(name) == epoch:  # a later one was begun, and this process did not learn of it
                del self.newest[name]
            raise


class Histories(dict[str, History]):
    """Histories by autoscaler name. Access to a damaged one raises its StateError."""

    def __init__(self) -> None:
        super().__init__()
        self.damaged: dict[str, str] = {}
        """Autoscaler's name -> the reason and the remedy."""

    def __missing__(self, name: str) -> NoReturn:
        if name in self.damaged:
            raise StateError(self.damaged[name])
        raise KeyError(name)
