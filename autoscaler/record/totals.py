"""The sizes that a connection's autoscalers were last known to have, for what they may sum to."""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from typing import Final

from sqlalchemy import Connection, select

from autoscaler.decide.sharing import size_of
from autoscaler.errors import StateError
from autoscaler.model import Decision, Intent, Share
from autoscaler.record import schema
from autoscaler.record.entries import Key, newest_decisions


class KnownSizes:
    """Of one adapter connection; all of its lanes use it. Empty until one asks for it."""

    def __init__(self, connection: str) -> None:
        self.connection: Final = connection
        self._sizes: dict[Key, tuple[int, int]] | None = None
        """Slot and size; None: nobody has asked."""
        self._lock = threading.Lock()

    def load(self, reading: Callable[[], AbstractContextManager[Connection]]) -> None:
        """Before the first use: what the state knows. Raises StateError. `reading` begins a transaction."""
        with self._lock:
            if self._sizes is None:
                self._sizes = {}  # other lanes' cycles that end meanwhile say it better
                try:
                    with reading() as connection:
                        found = _read(connection, self.connection)
                except BaseException:
                    self._sizes = None
                    raise
                for key, known in found.items():
                    self._sizes.setdefault(key, known)

    def follow(self, key: Key, slot: int, made: Decision, unfinished: Intent | None) -> None:
        """This was committed. Where the target could not be read, its size stays what it was."""
        size = size_of(made, unfinished)
        if self._sizes is not None and size is not None:
            self._sizes[key] = (slot, size)

    def forget(self, keys: Collection[Key]) -> None:
        """The state has forgotten these."""
        if self._sizes is not None:
            for key in keys:
                self._sizes.pop(key, None)

    def of(self, minimums: Mapping[Key, int]) -> Mapping[str, int]:
        """Of these autoscalers, by name; one that was never read counts as what stands here."""
        known = self._sizes or {}
        return {key[0]: known[key][1] if key in known else minimum for key, minimum in minimums.items()}

    def totals(self, share: Share, configured: Collection[Key]) -> Mapping[int, int]:
        """What those of the other shares sum to, by the share's number."""
        sums = Counter[int]()
        for key, (slot, size) in (self._sizes or {}).copy().items():
            if slot % share.of != share.number and key in configured:
                sums[slot % share.of] += size
        return sums


def _read(connection: Connection, name: str) -> dict[Key, tuple[int, int]]:
    owner, intent = schema.autoscaler, schema.intent
    mine = owner.c.connection == name
    asked = select(intent.c.autoscaler_id, intent.c.size).join(owner, owner.c.id == intent.c.autoscaler_id)
    intended = {row.autoscaler_id: row.size for row in connection.execute(asked.where(mine))}
    newest = newest_decisions(connection, mine)
    found = {}
    for row in connection.execute(select(owner.c.id, owner.c.name, owner.c.target, owner.c.slot).where(mine)):
        latest = newest.get(row.id)
        if latest is None or isinstance(latest, StateError):
            continue  # it counts as one that was never read
        made = latest.decision
        size = size_of(made, None)
        if size is None:  # what was read before it is not known any more: whatever was wanted then may be there
            size = max(made.status.current, made.status.desired)
        found[row.name, row.target] = row.slot, max(size, intended.get(row.id, 0))
    return found
