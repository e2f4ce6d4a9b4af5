"""The state's own scale of time, which no setting of the wall clock moves.

It is the wall clock's less a lead: by how much that clock was set forward since the state began, as CLOCK_BOOTTIME
tells (backward: negative). What is remembered carries the lead that its times were written under. Read under another
one it is moved by the difference, whoever reads it and however often: so nothing is moved twice, or not at all, by a
restart, a commit that failed or a lane that takes over.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Final, NamedTuple

from sqlalchemy import Connection, func, select

from autoscaler.moment import STEP, Moment
from autoscaler.record import schema
from autoscaler.record.times import micros_of, to_micros

_ROW: Final = 1


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
    """One for all lanes of a process, which call it at any time."""

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
                # a look from before a step that another lane has seen since: right for what was seen then
                overtaken = moment.elapsed < self._followed_at
                if followed is anchor or overtaken:
                    return followed.lead
            with writing() as connection:
                followed = anchor.followed(moment, _newest(connection))
                row = {"id": _ROW, "boot": followed.boot, "booted": followed.booted, "lead": followed.lead}
                schema.upsert(connection, schema.timeline, [row])
            self._anchor, self._followed_at = followed, moment.elapsed
            return followed.lead


def read_anchor(connection: Connection) -> Anchor:
    """Where the scale stood last."""
    table = schema.timeline
    row = connection.execute(select(table.c.boot, table.c.booted, table.c.lead)).one_or_none()
    return Anchor() if row is None else Anchor(*row)


def _newest(connection: Connection) -> int | None:
    memory = schema.memory
    newest: int | None = connection.execute(select(func.max(memory.c.at - memory.c.lead))).scalar_one()
    return newest
