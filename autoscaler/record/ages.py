"""The age of remembered values when they are read, independent of steps of the wall clock.

A row holds its times by the wall clock, and the time of its own write by several clocks. A reader computes the row's
age from these, and `model.later` shifts its times to the wall clock of now.
"""

from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from sqlalchemy import ColumnElement, Connection, Table

from autoscaler.model import later
from autoscaler.moment import STEP, Moment
from autoscaler.record.daemons import database_time
from autoscaler.record.times import from_micros, micros_of, to_micros

_T = TypeVar("_T")
UNKNOWN: Final = Moment(from_micros(0), "", timedelta(0))
"""The moment of a ledger whose shard has not begun a cycle: the wall clock counts as never stepped."""


def time_columns(moment: Moment, at: datetime) -> dict[str, Any]:
    """Return the columns with a row's time. `at`: the wall clock's time of the cycle that begins at `moment`."""
    database = None if moment.database is None else to_micros(moment.database)
    return {"at": to_micros(at), "boot": moment.boot, "elapsed": micros_of(moment.elapsed), "database": database}


def age_of(row: Any, moment: Moment) -> timedelta:
    """Return the age of a row with these columns, at least zero.

    CLOCK_BOOTTIME measures the age if the row was written since this machine was started. Otherwise the wall clock
    does; on PostgreSQL, the smaller age of the wall clock's and the database's, so that a step of one clock does not
    make a row old.
    """
    if row.boot == moment.boot:
        micros = micros_of(moment.elapsed) - row.elapsed
    else:
        micros = to_micros(moment.now) - row.at
        if moment.database is not None and row.database is not None:
            micros = min(micros, to_micros(moment.database) - row.database)
    return timedelta(microseconds=max(0, micros))


def are_older(table: Table, moment: Moment, age: timedelta) -> ColumnElement[bool]:
    """Return the condition of the rows of a table with these columns whose `age_of` is at least `age`."""
    row = table.c
    here = (row.boot == moment.boot) & (row.elapsed <= micros_of(moment.elapsed - age))
    elsewhere = (row.boot != moment.boot) & (row.at <= to_micros(moment.now - age))
    if moment.database is not None:
        elsewhere &= row.database.is_(None) | (row.database <= to_micros(moment.database - age))
    return here | elsewhere


def booted_by(row: Any, moment: Moment) -> datetime:
    """Return when this machine was started, by the wall clock of the row's times. Arguments as of `age_of`."""
    return from_micros(row.at) - (moment.elapsed - age_of(row, moment))


def kept_age(value: _T, booted: datetime, moment: Moment) -> tuple[_T, datetime]:
    """Return the value with its times by the wall clock of `moment`, and the start of this machine by that clock.

    `booted`: the start of this machine by the wall clock of the value's times.
    """
    step = moment.booted - booted
    if moment.boot == "" or abs(step) <= STEP:
        return value, booted
    return later(value, step), moment.booted


def read_database_time(connection: Connection) -> datetime | None:
    """Return PostgreSQL's clock; None on SQLite."""
    return None if connection.dialect.name == "sqlite" else from_micros(database_time(connection))
