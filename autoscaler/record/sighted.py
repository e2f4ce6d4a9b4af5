"""When the instances of one shard's targets were first seen: in memory what the state holds."""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import Connection, Row, select

from autoscaler.errors import StateError
from autoscaler.model import Sightings, TargetRef
from autoscaler.moment import Moment
from autoscaler.record import schema
from autoscaler.record.ages import booted_by, kept_age, read_database_time
from autoscaler.record.binary import Binary
from autoscaler.record.entries import SIGHTINGS, target_text

_T = TypeVar("_T")
Reading: TypeAlias = Callable[[], AbstractContextManager[Connection]]


def by_target(rows: Iterable[Row[Any]], kind: Binary[_T], what: str, forgotten: dict[str, str]) -> dict[str, _T]:
    """The values of these rows by their target; what is damaged is left out, and said in `forgotten`."""
    found = dict[str, _T]()
    for row in rows:
        try:
            found[row.target] = kind.load(row.body)
        except StateError as error:
            forgotten[row.target] = f"{what} cannot be read ({error}); the next cycle begins that anew"
    return found


class Sighted:
    """Used by one shard's thread."""

    def __init__(self, forgotten: dict[str, str]) -> None:
        """`forgotten`: where it is said of which targets they are damaged, and begin anew by themselves."""
        self._forgotten = forgotten
        self._held: dict[str, tuple[Sightings, datetime]] | None = None
        """By target, each with when this machine was started by the clock that its times are of; None: not read yet."""
        self._followed: frozenset[str] | None = None
        """The shard's targets; None: not known yet, every one that the state remembers is held."""
        self._unread: frozenset[str] = frozenset()
        """Of those, the ones that came since the others were read."""

    def follow(self, targets: frozenset[str], new: frozenset[str]) -> None:
        """These are the shard's from now on; `new`: those among them that are read again."""
        if self._followed is None:
            self._held = None
        self._followed, self._unread = targets, (self._unread & targets) | new
        if self._held is not None:
            stay = targets - new
            self._held = {target: seen for target, seen in self._held.items() if target in stay}

    def of(self, targets: Collection[TargetRef], moment: Moment, reading: Reading) -> Mapping[TargetRef, Sightings]:
        """Those of these targets, with their times as the wall clock shows them at this moment.

        One never seen is left out. Raises StateError.
        """
        known = self._read(moment, reading)
        found = dict[TargetRef, Sightings]()
        for target in targets:
            text = target_text(target)
            if text in known:
                seen, booted = known[text]
                known[text] = kept_age(seen, booted, moment)
                found[target] = known[text][0]
        return found

    def committed(self, seen: Mapping[str, Sightings], moment: Moment) -> None:
        """These are in the state now."""
        if self._held is not None:
            self._held.update({text: (known, moment.booted) for text, known in seen.items()})

    def _read(self, moment: Moment, reading: Reading) -> dict[str, tuple[Sightings, datetime]]:
        if self._held is not None and not self._unread:
            return self._held
        wanted = self._followed if self._held is None else self._unread
        query = select(schema.sighting)
        if wanted is not None and (few := schema.few(wanted)) is not None:
            query = query.where(schema.sighting.c.target.in_(few))
        with reading() as connection:
            database = read_database_time(connection)
            rows = [row for row in connection.execute(query) if wanted is None or row.target in wanted]
        booted = {row.target: booted_by(row, moment, database) for row in rows}
        found = by_target(rows, SIGHTINGS, "since when its target's instances are known", self._forgotten)
        self._held = (self._held or {}) | {target: (seen, booted[target]) for target, seen in found.items()}
        self._unread = frozenset()
        return self._held
