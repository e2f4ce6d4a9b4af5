"""PostgreSQL: a row says whose state it is."""

import pytest
from sqlalchemy import select, update

from autoscaler.errors import StaleLedger, StateError
from autoscaler.record import State, schema
from tests.record.conftest import Opener, in_threads
from tests.record.samples import FLEET, decision, keep

pytestmark = pytest.mark.slow


def held_until(state: State) -> int:
    with state._shared.readers.begin() as connection:
        return int(connection.execute(select(schema.owner.c.until)).scalar_one())


def expire(state: State) -> None:
    """As if its owner had been stopped for longer than the row holds."""
    with state._database.writing() as connection:
        connection.execute(update(schema.owner).values(until=0))


def test_a_second_daemon_is_refused(postgresql_opener: Opener) -> None:
    """Both would scale the same targets; the message says where the first one is."""
    postgresql_opener.state()
    with pytest.raises(StateError, match=r"in use by another daemon \(.+, pid \d+\); stop that one"):
        postgresql_opener.state()


def test_a_claim_that_is_renewed_stays(postgresql_opener: Opener) -> None:
    state = postgresql_opener.state()
    with state._database.writing() as connection:
        connection.execute(update(schema.owner).values(until=schema.owner.c.until - 20_000_000))
    before = held_until(state)
    state.renew()
    assert held_until(state) > before
    with pytest.raises(StateError, match="in use"):
        postgresql_opener.state()


def test_a_claim_that_ran_out_is_taken_over(postgresql_opener: Opener) -> None:
    """One that was killed with its machine must not keep others off for ever."""
    first = postgresql_opener.state()
    expire(first)
    second = postgresql_opener.state()
    keep(second.ledger(FLEET), decision())
    second.renew()


def test_who_was_taken_over_renews_nothing_and_commits_nothing(postgresql_opener: Opener) -> None:
    """It was stopped, another came, and it runs again: only one of the two may scale."""
    first = postgresql_opener.state()
    ledger = first.ledger(FLEET)
    keep(ledger, decision(0))
    expire(first)
    second = postgresql_opener.state()
    second.ledger(FLEET)
    with pytest.raises(StaleLedger, match="was taken over by another daemon"):
        first.renew()
    with pytest.raises(StaleLedger, match="superseded"):
        keep(ledger, decision(15))
    second.renew()


def test_who_was_taken_over_does_not_give_away_what_is_anothers(postgresql_opener: Opener) -> None:
    """Its end is no reason to let in a third."""
    first = postgresql_opener.state()
    expire(first)
    second = postgresql_opener.state()
    first.close()
    second.renew()
    with pytest.raises(StateError, match="in use"):
        postgresql_opener.state()


def test_a_daemon_that_ends_lets_the_next_one_in_at_once(postgresql_opener: Opener) -> None:
    postgresql_opener.state()
    postgresql_opener.close()
    postgresql_opener.state()


def test_a_daemon_that_ends_with_a_cycle_that_hangs_lets_the_next_one_in_at_once(postgresql_opener: Opener) -> None:
    """A service manager starts it again at once. The old cycle, should it come back in time, records nothing more."""
    ending = postgresql_opener.state()
    stale = ending.ledger(FLEET)
    ending.release()
    postgresql_opener.ledger()
    with pytest.raises(StaleLedger):
        keep(stale, decision())


def test_of_two_that_begin_at_once_one_is_refused(postgresql_opener: Opener) -> None:
    """Neither finds a row then."""
    postgresql_opener.state()
    postgresql_opener.close()
    opened: list[State] = []

    def begin() -> None:
        opened.append(postgresql_opener.state())

    with in_threads([begin] * 4) as raised:
        pass
    assert len(opened) == 1
    assert [type(error) for error in raised] == [StateError] * 3


def test_readers_need_no_claim(postgresql_opener: Opener) -> None:
    """The command line works beside a daemon."""
    keep(postgresql_opener.ledger(), decision())
    assert postgresql_opener.archive().latest() == {"web": decision()}
