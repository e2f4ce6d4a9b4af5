"""When instances were first seen, and seen ready: what a back end does not say, kept over restarts."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from sqlalchemy import URL, Engine, select

from autoscaler.model import TargetRef
from autoscaler.record import engine as engines
from autoscaler.record import schema
from autoscaler.record.codec import Codec, pack, unpack
from autoscaler.record.memory import target_text

SightingT = TypeVar("SightingT")


class KeptSightings(Generic[SightingT]):
    """Instance name -> sighting, for each target; any number of threads at once.

    It is handed the class of a sighting, a frozen dataclass of whoever observes: this package knows no observers.
    """

    def __init__(self, kind: type[SightingT], url: URL, engine: Engine, write_lock: threading.Lock) -> None:
        hint: Any = Mapping[str, kind]  # type: ignore[valid-type]  # built at run time, for `Codec` alone
        self._codec: Codec[Mapping[str, SightingT]] = Codec(hint)
        self._url = url
        self._engine = engine
        self._write_lock = write_lock
        self._known: dict[str, Mapping[str, SightingT]] | None = None
        """Target -> what is known; None: not read yet, or in doubt since a save failed."""
        self._lock = threading.Lock()

    def load(self, targets: Sequence[TargetRef]) -> Mapping[TargetRef, Mapping[str, SightingT]]:
        """What is known of these targets; one never saved is left out. Raises StateError."""
        with self._lock:
            if self._known is None:
                self._known = self._read()
            return {target: self._known[text] for target in targets if (text := target_text(target)) in self._known}

    def save(self, known: Mapping[TargetRef, Mapping[str, SightingT]]) -> None:
        """Replace what is known of these targets, in one transaction. Raises StateError."""
        rows = [{"target": target_text(target), "body": pack(self._codec.dump(seen))} for target, seen in known.items()]
        try:
            with self._write_lock, engines.explained(self._url), self._engine.begin() as connection:
                schema.upsert(connection, schema.sighting, rows)
        except BaseException:
            with self._lock:
                self._known = None
            raise
        with self._lock:
            if self._known is not None:
                self._known.update((target_text(target), seen) for target, seen in known.items())

    def _read(self) -> dict[str, Mapping[str, SightingT]]:
        table = schema.sighting
        with engines.explained(self._url), self._engine.begin() as connection:
            rows = connection.execute(select(table.c.target, table.c.body)).all()
        return {row.target: self._codec.load(unpack(row.body)) for row in rows}
