"""Who writes memories: a memory that stays the same is not written again.

The autoscalers that a shard decides in one cycle have a writer: a row with the time of its last commit. Their memories
are rows that name the writer and stand for that commit. So a cycle in which only time goes by writes one row for all of
them. When the writer commits without one of them (it failed, or left the shard), that one's row gets the time of the
commit before, and no writer.

A writer belongs to one ledger, and ends when a transaction failed or an autoscaler left the shard. A ledger that reads
its memories again begins new ones, so the rows of a shard that was superseded, or of a daemon that was killed, keep
their times. The first write over a row of another ledger's writer checks that this one has not committed since.
"""

import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, insert, select, update

from autoscaler.errors import StateError
from autoscaler.record import schema
from autoscaler.record.sizes import Bytes, count_bytes

if TYPE_CHECKING:
    from autoscaler.record.entries import Entry

_TABLE: Final = schema.writer
_TIMES: Final = ("at", "boot", "elapsed", "database")


@dataclass(slots=True, eq=False)
class Writer:
    """What a row of the table `writer` holds."""

    id: int
    commits: int = 0
    when: Mapping[str, Any] = field(default_factory=dict)
    """`time_columns` of the last commit."""
    members: "dict[int, Entry]" = field(default_factory=dict)
    """The autoscalers that it decided then, by id."""

    def commit(self, connection: Connection, decided: "Iterable[Entry]", when: Mapping[str, Any], of: Bytes) -> None:
        """Note a commit of these autoscalers' cycle at `when` (`time_columns`), which writes bytes. Raises StateError.

        A failed transaction ends the writer.
        """
        stay = {entry.id for entry in decided}
        detach(connection, [each for each in self.members.values() if each.id not in stay])
        rows = {"commits": self.commits + 1, **when}
        if self.commits == 0:
            connection.execute(insert(_TABLE).values(id=self.id, detail=of.detail, history=of.history, **rows))
        else:
            added = {"detail": _TABLE.c.detail + of.detail, "history": _TABLE.c.history + of.history}
            same = (_TABLE.c.id == self.id) & (_TABLE.c.commits == self.commits)
            if connection.execute(update(_TABLE).where(same).values(**rows, **added)).rowcount != 1:
                raise lost()
        self.commits, self.when = self.commits + 1, when

    def add(self, entry: "Entry") -> None:
        """Add an autoscaler whose row names this writer now, and remove it from its earlier writer."""
        if entry.writer is not self:
            leave(entry)
            entry.writer, self.members[entry.id] = self, entry


class ReadWriter(NamedTuple):
    """A writer as a memory was read with it."""

    id: int
    commits: int

    @classmethod
    def of(cls, row: Any) -> "ReadWriter | None":
        """Return the writer that a row of `schema.known` names; None if it names none, or there is no row."""
        return None if row is None or row.writer is None else cls(row.writer, row.commits)


def check_read(connection: Connection, read: Collection[ReadWriter]) -> None:
    """Raise StateError if one of these writers has committed since it was read.

    On PostgreSQL, the writers cannot commit until this transaction has ended.

    A shard that hangs in a commit can lose its autoscalers to another shard, which has read their memories before.
    """
    if not read:
        return
    c = _TABLE.c
    named = select(c.id, c.commits).where(c.id.in_({each.id for each in read})).order_by(c.id).with_for_update()
    found = {row.id: row.commits for row in connection.execute(named)}
    if any(found.get(each.id, 0) != each.commits for each in read):
        raise lost()


def writer_of(entries: "Iterable[Entry]") -> Writer:
    """Return the writer that most of these autoscalers have; a new one if none of them has a writer."""
    found = Counter([entry.writer for entry in entries if entry.writer is not None])
    return found.most_common(1)[0][0] if found else Writer(secrets.randbits(62) + schema.FIRST_WRITER)


def leave(entry: "Entry") -> None:
    """Remove the autoscaler from its writer, if it has one. Later commits of the writer no longer stand for its row."""
    if entry.writer is not None:
        entry.writer.members.pop(entry.id, None)
        entry.writer = None


def leave_all(entries: "Iterable[Entry]") -> None:
    """Remove these autoscalers from their writers, so that no later commit of a writer gives their rows its time."""
    for entry in entries:
        leave(entry)


def detach(connection: Connection, entries: "Sequence[Entry]") -> None:
    """Give each row of these autoscalers the number and the time of its writer's last commit, and no writer."""
    rows = [
        {
            "of": each.id,
            "by": each.writer.id,
            "ahead": each.writer.commits,
            **{f"new_{k}": each.writer.when[k] for k in _TIMES},
        }
        for each in sorted(entries, key=lambda one: one.id)
        if each.writer is not None
    ]
    if rows:
        table = schema.autoscaler
        mine = (table.c.id == bindparam("of")) & (table.c.writer == bindparam("by"))
        values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in _TIMES}
        values |= {"writer": None, "since": table.c.since - bindparam("ahead")}
        connection.execute(update(table).where(mine).values(values), rows)
    leave_all(entries)


def lost() -> StateError:
    """Return the error of a row that is not the one that this process wrote last."""
    return StateError(
        "the state does not hold what this daemon wrote last: an older state came back, or another process wrote; "
        "nothing is scaled or recorded in this cycle, and the next cycle reads the newest memory"
    )


def delete_unused(connection: Connection, most: int) -> int:
    """Delete at most so many writers that no memory names. Returns how many.

    What they have written counts as the housekeeping's.
    """
    c, named = _TABLE.c, schema.autoscaler.c.writer
    unused = (c.id >= schema.FIRST_WRITER) & ~select(named).where(named == c.id).exists()
    gone = connection.execute(select(c.id, c.detail, c.history).where(unused).limit(most)).all()
    if gone:
        connection.execute(_TABLE.delete().where(c.id.in_([row.id for row in gone])))
        written = Bytes(sum(row.detail for row in gone), sum(row.history for row in gone))
        count_bytes(connection, schema.HOUSEKEEPING, written)
    return len(gone)
