"""When the instances of one shard's targets were first seen: a copy of what the state has."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

import msgspec
from sqlalchemy import Connection

from autoscaler.model import Sightings, TargetRef
from autoscaler.moment import Moment
from autoscaler.record import schema
from autoscaler.record.ages import booted_by, kept_age, time_columns
from autoscaler.record.binary import Binary
from autoscaler.record.kept import read, save
from autoscaler.target.scaled import Identify, Scaled


class Seen(msgspec.Struct, array_like=True):
    """Sightings, with the time at which they were saved, as `time_columns` has it."""

    at: int
    boot: str
    elapsed: int
    database: int | None
    of: Sightings


SEEN: Final = Binary[Seen](Seen)


def save_sightings(connection: Connection, seen: Mapping[Scaled, Sightings], moment: Moment) -> None:
    """Save the sightings of these targets, of a cycle that began at this moment."""
    when = time_columns(moment, moment.now)
    save(connection, schema.SIGHTING, {key: SEEN.dump(Seen(**when, of=known)) for key, known in seen.items()})


class SightingCache:
    """Used by one shard's thread."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Sightings, datetime]] = {}
        """By target, with the start of this machine by the wall clock of their times."""

    def read(self, connection: Connection, moment: Moment, targets: Collection[str] | None) -> Mapping[str, str]:
        """Read these targets' sightings; None: all in the state. Returns damaged targets with the reason."""
        damaged = dict[str, str]()

        def read_one(body: bytes) -> tuple[Sightings, datetime]:
            seen = SEEN.load(body)
            return seen.of, booted_by(seen, moment)

        what = "when its target's instances were first seen"
        self._known |= read(connection, schema.SIGHTING, targets, read_one, what, damaged)
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
