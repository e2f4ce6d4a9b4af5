"""How old what is remembered is when it is read, whatever the clocks were set to meanwhile.

A row holds its times as the wall clock showed them, and when that was by other clocks as well. What is read keeps its
ages: where the wall clock shows something else now, `model.later` moves its times along.
"""

from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, select

from autoscaler.model import later
from autoscaler.moment import STEP, Moment
from autoscaler.record import schema
from autoscaler.record.times import from_micros, micros_of, to_micros

_T = TypeVar("_T")
UNKNOWN: Final = Moment(from_micros(0), "", timedelta(0))
"""Of a ledger that was never told the time: the wall clock counts as never set."""


def taken(moment: Moment, at: datetime) -> dict[str, Any]:
    """The columns that say of which time a row is; `at`: the wall clock's time of the cycle that begins at `moment`."""
    return {"at": to_micros(at), "boot": moment.boot, "elapsed": micros_of(moment.elapsed)}


def age_of(row: Any, moment: Moment, database: int | None) -> timedelta:
    """How long ago a row with these columns was written, at least zero. `database`: PostgreSQL's clock now.

    Between two starts of a machine, and between two hosts, CLOCK_BOOTTIME cannot tell. Then the wall clock does; on
    PostgreSQL that or the database's, whichever says less: a step of one of them makes nothing old.
    """
    if row.boot == moment.boot:
        micros = micros_of(moment.elapsed) - row.elapsed
    else:
        micros = to_micros(moment.now) - row.at
        if database is not None and row.database is not None:
            micros = min(micros, database - row.database)
    return timedelta(microseconds=max(0, micros))


def booted_by(row: Any, moment: Moment, database: int | None) -> datetime:
    """When this machine was started, by the wall clock that the row's times are of; as `age_of`."""
    return from_micros(row.at) - (moment.elapsed - age_of(row, moment, database))


def kept_age(value: _T, booted: datetime, moment: Moment) -> tuple[_T, datetime]:
    """The value with its times as the wall clock shows them now, and when this machine was started by that.

    `booted`: by the wall clock that its times are of.
    """
    step = moment.booted - booted
    if moment.boot == "" or abs(step) <= STEP:
        return value, booted
    return later(value, step), moment.booted


def read_database_time(connection: Connection) -> int | None:
    """PostgreSQL's clock, in microseconds; None: it is SQLite."""
    now: int | None = connection.execute(select(schema.database_time())).scalar_one()
    return now
