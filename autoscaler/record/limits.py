"""A connection's limits, exact with any number of ledgers.

A ledger reads how far the limits are used before a cycle's decisions are cut to what is left, and reads it again in the
commit of the intents. One commit of the connection at a time does that. A decision that no longer fits is not written.

A removal is committed with its intent, before the write, so that it counts towards the `removalBudget` even if the
daemon dies in between. What was not written is given back with the outcome. A write without an answer stays counted.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, delete, insert, select, update

from autoscaler.errors import StateError
from autoscaler.limits.connection_limits import apply_limits
from autoscaler.limits.removals import Counted, count, settle
from autoscaler.model import (
    CONNECTION_LIMITS,
    MAX_PERIOD,
    Autoscaler,
    ConnectionLimits,
    Decision,
    History,
    LimitUsage,
    Removal,
    RemovalBudget,
    TargetRef,
)
from autoscaler.moment import Moment
from autoscaler.record import schema
from autoscaler.record.ages import are_older, booted_by, kept_age, time_columns
from autoscaler.record.entries import Entry, Key
from autoscaler.record.housekeeping import Housekeeper
from autoscaler.record.locks import Lock, wait_for
from autoscaler.record.times import from_micros

_TABLE: Final = schema.removal


class _IntendedRemoval(NamedTuple):
    """A scale-in that is counted and has no outcome yet."""

    counted: Counted
    seq: int
    earlier: int
    """The `seq` of the pending removal that this one includes; its own if there is none."""


class Limits:
    """Used by the ledger's thread."""

    def __init__(self, name: str, housekeeper: Housekeeper) -> None:
        """`name`: the adapter connection's. `housekeeper`: has this daemon's configured autoscalers."""
        self._name: Final = name
        self._housekeeper = housekeeper
        self.limits = ConnectionLimits()
        self.scalers: Mapping[Key, Autoscaler] = {}
        """The ledger's autoscalers."""
        self._intended: Mapping[int, _IntendedRemoval] = {}
        """The removals of the current cycle, by autoscaler id."""

    def standing(self, connection: Connection, moment: Moment, busy: frozenset[TargetRef]) -> LimitUsage:
        """Return how far the limits are used at this moment."""
        budget = self.limits.removal_budget
        removals = () if budget is None else self._removals(connection, budget, moment)
        sizes = {} if self.limits.max_total is None else self._sizes(connection)
        own = {scaler.name: sizes.pop(key) for key, scaler in self.scalers.items() if key in sizes}
        return LimitUsage(self._name, self.limits, removals, own, sum(sizes.values()), busy)

    def begin(self) -> None:
        """Begin a cycle. Removals that an earlier cycle did not record stay counted."""
        self._intended = {}

    def intend(
        self,
        connection: Connection,
        pairs: Sequence[tuple[Entry, Decision]],
        decisions: Sequence[Decision],
        history: Mapping[str, History],
        moment: Moment,
        busy: frozenset[TargetRef],
    ) -> Mapping[str, Exception]:
        """Count these decisions towards the limits. `decisions`: all of the cycle, made from `history` at `moment`.

        Returns the autoscalers whose decision no longer fits, with the reason. They may not be written.
        """
        if not self._binds([made for _, made in pairs]):
            return {}
        wait_for(connection, Lock.LIMITS, self._name)
        standing = self.standing(connection, moment, busy)
        again = {made.name: made for made in apply_limits(decisions, history, standing, decisions[0].now).decisions}
        late = {
            made.name: StateError(
                f"nothing was written because another shard used the limit first: {_why_cut(again[made.name])}; the "
                "next cycle tries again"
            )
            for _, made in pairs
            if made.change != again[made.name].change
        }
        if self.limits.removal_budget is not None:
            _delete_old_removals(connection, self._name, moment)
            kept = [(entry, made) for entry, made in pairs if made.name not in late]
            self._intended = _intend_removals(connection, kept, standing, moment)
        return late

    def settle(self, connection: Connection, pairs: Sequence[tuple[Entry, Decision]]) -> None:
        """Give back the intended removals that the outcomes of these decisions did not use."""
        changed = list[tuple[int, int, int]]()
        for entry, made in pairs:
            if entry.id not in self._intended:
                continue
            counted, seq, earlier = self._intended[entry.id]
            settled = settle(made, counted)
            if settled.instances != counted.instances:
                changed.append((entry.id, seq, settled.instances))
            if settled.before:
                changed.append((entry.id, earlier, settled.before))
        _count(connection, changed)

    def _removals(self, connection: Connection, budget: RemovalBudget, moment: Moment) -> tuple[Removal, ...]:
        """Return the connection's removals within the budget's period, in order.

        Names are those of the configuration, because rows keep the former ones until the next cycle.
        """
        owner, configured = schema.autoscaler.c, self._housekeeper.configured
        query = select(owner.scaled, owner.name, owner.connection, _TABLE)
        query = query.join(schema.autoscaler, owner.id == _TABLE.c.autoscaler_id).where(_TABLE.c.instances > 0)
        found = list[Removal]()
        for row in connection.execute(query):
            scaler = self.scalers.get(row.scaled) or configured.get(row.scaled)
            name, of = (row.name, row.connection) if scaler is None else (scaler.name, scaler.target.adapter)
            if of != self._name:
                continue
            try:
                at, _ = kept_age(from_micros(row.at), booted_by(row, moment), moment)
            except (ValueError, TypeError, ArithmeticError):
                continue  # its time is damaged, which must not stop all others
            if moment.now - at < budget.period:
                found.append(Removal(name, at, row.instances, row.seq))
        return tuple(sorted(found, key=lambda one: one.at))

    def _sizes(self, connection: Connection) -> dict[Key, int]:
        """Return the last known size of each of the connection's autoscalers.

        Only those of the configuration count. An autoscaler counts as its maximum before its first cycle, and as its
        minimum if its target was never read.
        """
        owner = schema.autoscaler
        query = select(owner.c.scaled, owner.c.counted).where(owner.c.seq > 0)
        known = {**self._housekeeper.configured, **self.scalers}
        sizes = {key: scaler.max_replicas for key, scaler in known.items() if scaler.target.adapter == self._name}
        unread = set(sizes)

        def read(which: ColumnElement[bool]) -> None:
            for row in connection.execute(query.where(which)):
                if row.scaled in unread:
                    sizes[row.scaled] = known[row.scaled].min_replicas if row.counted is None else row.counted
                    unread.discard(row.scaled)

        read(owner.c.connection == self._name)
        for some in schema.batches(unread):  # new ones, and until their next cycle those of a renamed connection
            read(owner.c.scaled.in_(some))
        return sizes

    def _binds(self, live: Sequence[Decision]) -> bool:
        """Return whether a limit applies to any of these."""
        changes = [made.change for made in live if made.change is not None]
        falls = any(one.size < one.decided_from for one in changes)
        rises = any(one.size > one.decided_from for one in changes)
        return (falls and self.limits.removal_budget is not None) or (rises and self.limits.max_total is not None)


def _why_cut(made: Decision) -> str:
    return next(step.detail for step in reversed(made.trace) if step.reason in CONNECTION_LIMITS)


def _delete_old_removals(connection: Connection, name: str, moment: Moment) -> None:
    """Delete the removals of the adapter connection `name` that no period can include."""
    owner = schema.autoscaler
    own = select(owner.c.id).where(owner.c.id == _TABLE.c.autoscaler_id, owner.c.connection == name).exists()
    connection.execute(delete(_TABLE).where(are_older(_TABLE, moment, MAX_PERIOD), own))


def _intend_removals(
    connection: Connection, pairs: Iterable[tuple[Entry, Decision]], standing: LimitUsage, moment: Moment
) -> Mapping[int, _IntendedRemoval]:
    """Count the scale-ins among these, of a cycle that began at this moment. Returns them by autoscaler id."""
    known = {(one.name, one.at): one for one in standing.removals}
    intended, rows = dict[int, _IntendedRemoval](), list[dict[str, Any]]()
    for entry, made in pairs:
        pending = entry.recalled.pending
        before = None if pending is None else known.get((made.name, pending.at))
        counted = count(made, pending, 0 if before is None else before.instances)
        if counted is not None:
            seq = entry.next_seq(made.now)
            intended[entry.id] = _IntendedRemoval(counted, seq, seq if before is None else before.seq)
            key = {"autoscaler_id": entry.id, "seq": seq}
            rows.append(key | time_columns(moment, made.now) | {"instances": counted.instances})
    if rows:
        connection.execute(insert(_TABLE), rows)
    _count(connection, [(owner_id, one.earlier, 0) for owner_id, one in intended.items() if one.counted.before])
    return intended


def _count(connection: Connection, changed: Collection[tuple[int, int, int]]) -> None:
    """Set the number of instances of removals, given by autoscaler id, `seq` and number."""
    if changed:
        mine = (_TABLE.c.autoscaler_id == bindparam("owner_id")) & (_TABLE.c.seq == bindparam("of_seq"))
        rows = [{"owner_id": owner_id, "of_seq": seq, "units": units} for owner_id, seq, units in sorted(changed)]
        connection.execute(update(_TABLE).where(mine).values(instances=bindparam("units")), rows)
