"""When the instances of one shard's targets were first seen: a copy of the state's rows in memory."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, select

from autoscaler.errors import StateError
from autoscaler.model import Sightings, TargetRef
from autoscaler.moment import Moment
from autoscaler.record import schema
from autoscaler.record.ages import booted_by, kept_age
from autoscaler.record.entries import SIGHTINGS
from autoscaler.target.scaled import Identify

_T = TypeVar("_T")


def by_scaled(
    rows: Iterable[Row[Any]], read: Callable[[Row[Any]], _T], what: str, damaged: dict[str, str]
) -> dict[str, _T]:
    """Return what `read` makes of these rows, by what is scaled. `damaged` gets the reason of those that it cannot."""
    found = dict[str, _T]()
    for row in rows:
        try:
            found[row.scaled] = read(row)
        except (StateError, ValueError, TypeError, ArithmeticError) as error:
            damaged[row.scaled] = f"{what} cannot be read ({error}); the next cycle begins it anew"
    return found


class SightingCache:
    """Used by one shard's thread."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Sightings, datetime]] = {}
        """By target, with the start of this machine by the wall clock of their times."""

    def read(self, connection: Connection, moment: Moment, targets: Collection[str] | None) -> Mapping[str, str]:
        """Read these targets' sightings; None: all in the state. Returns damaged targets with the reason."""
        query = select(schema.sighting)
        if targets is not None and (few := schema.few(targets)) is not None:
            query = query.where(schema.sighting.c.scaled.in_(few))
        rows = [row for row in connection.execute(query) if targets is None or row.scaled in targets]
        damaged = dict[str, str]()

        def read_one(row: Row[Any]) -> tuple[Sightings, datetime]:
            return SIGHTINGS.load(row.body), booted_by(row, moment)

        self._known |= by_scaled(rows, read_one, "when its target's instances were first seen", damaged)
        return damaged

    def keep(self, targets: Collection[str]) -> None:
        """Drop the sightings of all other targets."""
        self._known = {target: seen for target, seen in self._known.items() if target in targets}

    def of(self, targets: Collection[TargetRef], moment: Moment, scaled: Identify) -> Mapping[TargetRef, Sightings]:
        """Return these targets' sightings, with times by the wall clock of `moment`. Skips targets never seen."""
        found = dict[TargetRef, Sightings]()
        for target in targets:
            text = scaled(target)
            if text in self._known:
                seen, booted = self._known[text]
                self._known[text] = kept_age(seen, booted, moment)
                found[target] = self._known[text][0]
        return found

    def committed(self, seen: Mapping[str, Sightings], moment: Moment) -> None:
        """Note that these are committed."""
        self._known.update({text: (known, moment.booted) for text, known in seen.items()})
