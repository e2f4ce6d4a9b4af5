"""Begins the ledgers of shards, in a state that may answer late."""

from concurrent.futures import Future
from functools import partial

from autoscaler.errors import StateError
from autoscaler.model import ShardName
from autoscaler.record.ledger import Ledger
from autoscaler.record.state import State
from autoscaler.threads import Stop, spawn


class Ledgers:
    """Used by the main thread."""

    def __init__(self, state: State, stop: Stop) -> None:
        self._state = state
        self._stop = stop
        self._late: dict[ShardName, Future[Ledger]] = {}
        """Ledgers that were not begun in time, and may still begin."""

    def begin(self, name: ShardName, seconds: float) -> Ledger:
        """Return a ledger in a new epoch of the shard. Raises StateError, also after `seconds`, Stopping and NoThread.

        The next call waits for one that was not begun in time: it may still begin, and would end the epoch of another
        one that was begun meanwhile.
        """
        beginning = self._late.get(name)
        if beginning is None:
            begin = partial(self._state.ledger, name.adapter, name.number, name.of)
            beginning = self._late[name] = spawn("ledger", begin)
        try:
            ledger = self._stop.wait_for(beginning, seconds)
        finally:
            if beginning.done():
                del self._late[name]
        if not ledger.is_current():
            raise StateError(f"the state took so long to begin shard {name} that the shard has to be begun again")
        return ledger
