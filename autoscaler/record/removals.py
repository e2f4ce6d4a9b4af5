"""What was intended to leave, as a connection's removal budget counts it.

It is committed with the intents, before the first write, so that a daemon that dies in between has counted it. What
turns out not to have been written is given back with the outcome. A write without an answer stays counted.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, select

from autoscaler.decide.removals import Counted, count, settle
from autoscaler.model import LONGEST_PERIOD, Decision, Removal, RemovalBudget, Share
from autoscaler.record import schema
from autoscaler.record.entries import Entry
from autoscaler.record.times import from_micros, micros_of, to_micros


class Removals:
    """Those of one lane's autoscalers, whose thread uses it."""

    def __init__(self) -> None:
        self.budget: RemovalBudget | None = None
        """None: nothing is counted."""
        self._intended: dict[int, tuple[Counted, int]] = {}
        """Of the cycle under way, by the autoscaler's id; and when the unfinished one before it was intended."""

    def intend(self, connection: Connection, pairs: Sequence[tuple[Entry, Decision]], lead: int) -> None:
        """Count the scale-ins among these. `lead`: of their times (`timeline`)."""
        self._intended = {}
        if self.budget is None:
            return
        table, rows = schema.removal, []
        for entry, made in pairs:
            now, unfinished = to_micros(made.now) - lead, entry.given.unfinished
            earlier = now if unfinished is None else to_micros(unfinished.at) - lead
            row = (table.c.autoscaler_id == entry.id) & (table.c.recorded == earlier)
            found = 0
            if now - earlier < micros_of(self.budget.period) and unfinished is not None:
                found = connection.execute(select(table.c.instances).where(row)).scalar_one_or_none() or 0
            counted = count(made, unfinished, found)
            if counted is not None:
                self._intended[entry.id] = counted, earlier
                rows.append(_row(entry, now, counted.instances))
                if counted.before:  # the new row stands for both
                    connection.execute(delete(table).where(row))
        if rows:
            past = rows[0]["recorded"] - micros_of(LONGEST_PERIOD)
            connection.execute(delete(table).where(table.c.recorded <= past))  # what no period can count any more
            schema.upsert(connection, table, rows)

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
        table = schema.removal
        if gone:
            mine = (table.c.autoscaler_id == bindparam("owner_id")) & (table.c.recorded == bindparam("at"))
            connection.execute(delete(table).where(mine), gone)
        schema.upsert(connection, table, kept)

    def read(self, connection: Connection, name: str, share: Share, now: datetime, lead: int) -> Sequence[Removal]:
        """All of the adapter connection `name` within the budget's period, in order of time; empty without a budget."""
        if self.budget is None:
            return ()
        owner, table = schema.autoscaler, schema.removal
        since = to_micros(now) - lead - micros_of(self.budget.period)
        query = (
            select(owner.c.name, owner.c.slot, table.c.recorded, table.c.instances)
            .join(owner, owner.c.id == table.c.autoscaler_id)
            .where(owner.c.connection == name, table.c.recorded > since)
            .order_by(table.c.recorded)
        )
        return [
            Removal(row.name, from_micros(row.recorded + lead), row.instances, row.slot % share.of)
            for row in connection.execute(query)
        ]


def _row(entry: Entry, recorded: int, instances: int) -> dict[str, int]:
    return {"autoscaler_id": entry.id, "recorded": recorded, "instances": instances}
