"""The state's own scale of time, which no setting of the wall clock moves.

It is the wall clock's less a lead: by how much that clock was set forward since the state began, as CLOCK_BOOTTIME
tells (backward: negative). What is remembered carries the lead that its times were written under. Read under another
one it is moved by the difference, whoever reads it and however often: so nothing is moved twice, or not at all, by a
restart, a commit that failed or a shard that takes over.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from sqlalchemy import Connection, func, select, update

from autoscaler.moment import STEP, Moment
from autoscaler.record import schema
from autoscaler.record.database_clock import DatabaseClock
from autoscaler.record.times import micros_of, to_micros

_ROW: Final = 1
_SLEW: Final = 0.0005
"""How much faster or slower than another a clock goes while nobody sets it: what NTP slews at most (adjtime(3))."""


class Anchor(NamedTuple):
    """Where the scale stands. Times in microseconds."""

    boot: str = ""
    """The start of the machine that `booted` is of; empty: the state has never seen a clock."""
    booted: int = 0
    """When that was, by the wall clock that `lead` is of."""
    lead: int = 0

    def followed(self, moment: Moment, newest: int | None = None) -> "Anchor":
        """The same, or another one where the wall clock was set. `newest`: of what is remembered, on this scale.

        It follows as soon as the clocks are a STEP apart, be it at once or bit by bit: ages are right to a second.
        Between two starts of the machine nothing tells a step from time gone by, and the wall clock is believed; but
        time never goes backward: what is remembered then keeps the age that it had.
        """
        booted = to_micros(moment.booted)
        if moment.boot == self.boot:
            step = booted - self.booted
            return self if abs(step) <= micros_of(STEP) else Anchor(self.boot, booted, self.lead + step)
        now = to_micros(moment.now) - self.lead
        back = 0 if newest is None else min(0, now - newest)
        return Anchor(moment.boot, booted, self.lead + back)


class Timeline:
    """One for all shards of a process, which call it at any time."""

    def __init__(self, anchor: Anchor) -> None:
        """`anchor`: as `read_anchor` found it."""
        self._anchor = anchor
        self._opened_at = anchor.lead
        self._followed_at = timedelta(0)
        """How long after the machine's start the anchor was changed last."""
        self._lock = threading.Lock()

    @property
    def lead(self) -> int:
        """In microseconds, as it was last known."""
        return self._anchor.lead

    @property
    def moved(self) -> timedelta:
        """By how much the wall clock was set in this process' time, and between the one before and it."""
        return timedelta(microseconds=self._anchor.lead - self._opened_at)

    def follow(self, moment: Moment, writing: Callable[[], AbstractContextManager[Connection]]) -> int:
        """The lead at this moment. Where it is another one, that is committed first. Raises StateError.

        `writing` begins a transaction of whoever may write the state.
        """
        with self._lock:
            anchor = self._anchor
            if anchor.boot == moment.boot:
                followed = anchor.followed(moment)
                # a look from before a step that another shard has seen since: right for what was seen then
                overtaken = moment.elapsed < self._followed_at
                if followed is anchor or overtaken:
                    return followed.lead
            with writing() as connection:
                followed = anchor.followed(moment, _newest(connection))
                row = {"id": _ROW, "boot": followed.boot, "booted": followed.booted, "lead": followed.lead}
                schema.upsert(connection, schema.timeline, [row])
            self._anchor, self._followed_at = followed, moment.elapsed
            return followed.lead


class Look(NamedTuple):
    """What a member saw of the database's clock."""

    at: timedelta
    """On this machine's clock, since its start."""
    booted: datetime
    """When this machine was started, by the database's clock."""
    slewed: datetime
    """The same, as far as no step is: what the next look is compared with."""
    lead: int


class SharedTimeline(Timeline):
    """PostgreSQL: the wall clock is the database's, and all members share the row. So one step of it counts once.

    Who sees the step first moves the row from the lead that it knows; whom another was quicker than, takes that lead.
    """

    def __init__(self, anchor: Anchor, clock: DatabaseClock) -> None:
        """`anchor`: as `read_anchor` found it; `clock`: shows the database's time already."""
        super().__init__(anchor)
        self._clock: Final = clock
        self._booted = clock.booted
        """By the database's clock that `lead` is of, and as that clock is slewed."""
        self._looked_at = clock.elapsed()
        self._before = anchor.lead
        """The lead until `_followed_at`."""

    def begin(self, connection: Connection) -> None:
        """Before the first cycle, with no other member there: count what the database's clock was set by meanwhile.

        This machine alone can tell, and only if it counted last and was not started again since.
        """
        moment, anchor = self._clock.moment(), self._anchor
        followed = anchor.followed(moment, _newest(connection))
        tolerance = STEP if anchor.boot != moment.boot else STEP + moment.elapsed * _SLEW
        if abs(followed.lead - anchor.lead) <= micros_of(tolerance):
            followed = followed._replace(lead=anchor.lead)
        self._lead_is(self._count(connection, followed))

    def follow(self, moment: Moment, writing: Callable[[], AbstractContextManager[Connection]]) -> int:  # noqa: ARG002 - `look` commits
        """The lead at this moment, which the database's clock showed. Commits nothing."""
        with self._lock:
            return self._before if moment.elapsed < self._followed_at else self._anchor.lead

    def look(self, connection: Connection, lead: int, booted: datetime, *, alone: bool) -> Look:
        """What a look at the database shows: the row's lead, and after that `DatabaseClock.seen`.

        In this order: a lead that another member has moved is then of a clock that we see set, too. A step is counted
        within the caller's transaction, after which `follow_look` follows.

        `alone`: no other member's lease stands. Else a step forward is not counted: it may be this virtual machine that
        stood still, and of a database's clock that was set forward by more than a lease every lease is over.
        """
        at = self._clock.elapsed()
        with self._lock:
            known, before, most = self._anchor.lead, self._booted, (at - self._looked_at) * _SLEW
        # as far as a clock may be slewed since the last look, that is time gone by; the rest adds up to a step
        slewed = before + min(max(booted - before, -most), most)
        step = booted - slewed
        if abs(step) <= STEP:
            return Look(at, booted, slewed, lead)
        if lead == known and (alone or step < timedelta(0)):
            moved = Anchor(self._clock.moment().boot, to_micros(booted), known + micros_of(booted - before))
            lead = self._count(connection, moved)
        return Look(at, booted, booted, lead)

    def follow_look(self, look: Look) -> None:
        """It is committed: the clock shows it from now on. One that is older than another changes nothing."""
        with self._lock:  # whoever asks for the lead of a moment that the clock shows from now on waits for it
            if look.at < self._looked_at:
                return
            self._clock.set(look.booted)
            self._looked_at, self._booted = look.at, look.slewed
            if look.lead != self._anchor.lead:
                self._followed_at = self._clock.elapsed()
                self._before, self._booted = self._anchor.lead, look.booted
                self._anchor = self._anchor._replace(lead=look.lead)

    def _count(self, connection: Connection, followed: Anchor) -> int:
        """Move the row there, unless another member has moved it. Returns its lead."""
        table, known = schema.timeline, self._anchor
        row = {"id": _ROW, "boot": known.boot, "booted": known.booted, "lead": known.lead}
        schema.insert_absent(connection, table, [row])
        values = {"boot": followed.boot, "booted": followed.booted, "lead": followed.lead}
        connection.execute(update(table).where(table.c.lead == known.lead).values(values))
        lead: int = connection.execute(select(table.c.lead)).scalar_one()
        return lead

    def _lead_is(self, lead: int) -> None:
        self._anchor = self._anchor._replace(lead=lead)
        self._before = lead


def read_anchor(connection: Connection) -> Anchor:
    """Where the scale stood last."""
    table = schema.timeline
    row = connection.execute(select(table.c.boot, table.c.booted, table.c.lead)).one_or_none()
    return Anchor() if row is None else Anchor(*row)


def _newest(connection: Connection) -> int | None:
    memory = schema.memory
    newest: int | None = connection.execute(select(func.max(memory.c.at - memory.c.lead))).scalar_one()
    return newest
