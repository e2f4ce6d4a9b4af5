"""What was intended to leave, as a connection's removal budget counts it.

It is committed with the intents, before the first write, so that a daemon that dies in between has counted it. What
turns out not to have been written is given back with the outcome. A write without an answer stays counted.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, select

from autoscaler.decide.removals import Counted, count, settle
from autoscaler.errors import StateError
from autoscaler.model import Decision, Removal, RemovalBudget
from autoscaler.quantity import format_duration
from autoscaler.record import schema
from autoscaler.record.entries import Entry
from autoscaler.record.locks import Lock, wait_for
from autoscaler.record.shares import Shares
from autoscaler.record.times import from_micros, micros_of, to_micros

_TABLE: Final = schema.removal


class _Count(NamedTuple):
    """A scale-in that is to be counted. Times in microseconds, on the state's own scale."""

    entry: Entry
    made: Decision
    counted: Counted
    now: int
    earlier: int
    """When the unfinished one before it was intended; without one: now."""


class Removals:
    """Those of one shard's autoscalers, whose thread uses it."""

    def __init__(self) -> None:
        self.budget: RemovalBudget | None = None
        """None: nothing is counted."""
        self._intended: dict[int, tuple[Counted, int]] = {}
        """Of the cycle under way, by the autoscaler's id; and when the unfinished one before it was intended."""

    def intend(
        self, connection: Connection, name: str, pairs: Sequence[tuple[Entry, Decision]], lead: int, *, several: bool
    ) -> Mapping[str, Exception]:
        """Count the scale-ins among these of the adapter connection `name`. `lead`: of their times (`timeline`).

        `several`: other daemons may intend some at the same moment, and for some seconds take other slots for theirs
        than this one does. So what all of them have counted is looked at again, one daemon after another. Returns those
        that would exceed the budget then: they are not counted, and may not be written.
        """
        self._intended = {}
        broken = dict[str, Exception]()
        if self.budget is None:
            return broken
        counts = self._counts(connection, self.budget, pairs, lead)
        if several and counts:
            wait_for(connection, Lock.REMOVALS, name)
            broken |= self._beyond(connection, name, self.budget, counts)
        kept = [one for one in counts if one.made.name not in broken]
        for one in kept:
            self._intended[one.entry.id] = one.counted, one.earlier
            if one.counted.before:  # the new row stands for both
                connection.execute(delete(_TABLE).where(_is(one.entry, one.earlier)))
        schema.upsert(connection, _TABLE, [_row(one.entry, one.now, one.counted.instances) for one in kept])
        return broken

    def record(self, connection: Connection, pairs: Collection[tuple[Entry, Decision]], lead: int) -> None:
        """Give back what of it was not written, now that this is known of these."""
        kept, gone = [], []
        for entry, made in pairs:
            if entry.id not in self._intended:
                continue
            counted, earlier = self._intended.pop(entry.id)
            now, settled = to_micros(made.now) - lead, settle(made, counted)
            if settled.instances == 0:
                gone.append({"owner_id": entry.id, "at": now})
            elif settled.instances != counted.instances:
                kept.append(_row(entry, now, settled.instances))
            if settled.before:
                kept.append(_row(entry, earlier, settled.before))
        if gone:
            mine = (_TABLE.c.autoscaler_id == bindparam("owner_id")) & (_TABLE.c.recorded == bindparam("at"))
            connection.execute(delete(_TABLE).where(mine), gone)
        schema.upsert(connection, _TABLE, kept)

    def read(self, connection: Connection, name: str, shares: Shares, now: datetime, lead: int) -> Sequence[Removal]:
        """All of the adapter connection `name` within the budget's period, in order of time; empty without a budget."""
        if self.budget is None:
            return ()
        owner = schema.autoscaler
        query = (
            select(owner.c.name, owner.c.slot, _TABLE.c.recorded, _TABLE.c.instances)
            .join(owner, owner.c.id == _TABLE.c.autoscaler_id)
            .where(
                owner.c.connection == name, _TABLE.c.recorded > to_micros(now) - lead - micros_of(self.budget.period)
            )
            .order_by(_TABLE.c.recorded)
        )
        return [
            Removal(row.name, from_micros(row.recorded + lead), row.instances, shares.number_of(row.slot))
            for row in connection.execute(query)
        ]

    def _counts(
        self, connection: Connection, budget: RemovalBudget, pairs: Sequence[tuple[Entry, Decision]], lead: int
    ) -> Sequence[_Count]:
        """The scale-ins among these."""
        counts = []
        for entry, made in pairs:
            now, unfinished = to_micros(made.now) - lead, entry.given.unfinished
            earlier = now if unfinished is None else to_micros(unfinished.at) - lead
            found = 0
            if now - earlier < micros_of(budget.period) and unfinished is not None:
                query = select(_TABLE.c.instances).where(_is(entry, earlier))
                found = connection.execute(query).scalar_one_or_none() or 0
            counted = count(made, unfinished, found)
            if counted is not None:
                counts.append(_Count(entry, made, counted, now, earlier))
        return counts

    def _beyond(
        self, connection: Connection, name: str, budget: RemovalBudget, counts: Sequence[_Count]
    ) -> Mapping[str, Exception]:
        """Those that exceed the budget with all that is counted within the period."""
        owner = schema.autoscaler
        query = (
            select(func.coalesce(func.sum(_TABLE.c.instances), 0))
            .join(owner, owner.c.id == _TABLE.c.autoscaler_id)
            .where(owner.c.connection == name, _TABLE.c.recorded > counts[0].now - micros_of(budget.period))
        )
        left = budget.instances - int(connection.execute(query).scalar_one())
        broken = dict[str, Exception]()
        for one in counts:
            more = one.counted.instances - one.counted.before
            if more > max(0, left):
                broken[one.made.name] = StateError(
                    f"{name}'s removalBudget of {budget.instances} instances in {format_duration(budget.period)} has "
                    f"{max(0, left)} left, of {more} to remove: another daemon has used it meanwhile; the next cycle "
                    "tries again"
                )
            else:
                left -= more
        return broken


def _is(entry: Entry, recorded: int) -> ColumnElement[bool]:
    return (_TABLE.c.autoscaler_id == entry.id) & (_TABLE.c.recorded == recorded)


def _row(entry: Entry, recorded: int, instances: int) -> dict[str, int]:
    return {"autoscaler_id": entry.id, "recorded": recorded, "instances": instances}
