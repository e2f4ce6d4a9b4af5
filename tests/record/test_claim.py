"""PostgreSQL: a daemon of an older version has a state for itself."""

import pytest
from sqlalchemy import select, update

from autoscaler.errors import StateError
from autoscaler.record import State, schema
from tests.record.conftest import Opener

pytestmark = pytest.mark.slow


def claim(state: State, until: int) -> None:
    """As a daemon of version 2 does it."""
    with state._database.writing() as connection:
        connection.execute(update(schema.owner).values(holder="abc", place="host-1, pid 7", until=until))


def test_an_older_daemon_that_still_runs_keeps_us_off(postgresql_opener: Opener) -> None:
    """It knows nothing of leases, and would go on scaling what we take. The message says where it is."""
    claim(postgresql_opener.state(), 2**62)
    with pytest.raises(StateError, match=r"in use by a daemon of an older version \(host-1, pid 7\).*stop that"):
        postgresql_opener.state()


def test_an_older_daemon_that_was_killed_lets_go(postgresql_opener: Opener) -> None:
    claim(postgresql_opener.state(), 0)
    postgresql_opener.state()


def test_an_older_daemon_finds_the_state_in_use(postgresql_opener: Opener) -> None:
    """Whenever it looks: what it goes by is a row that is renewed, and this one needs no renewal."""
    state = postgresql_opener.state()
    with state._database.writing() as connection:
        until = connection.execute(select(schema.owner.c.until)).scalar_one()
    assert until == 2**62
