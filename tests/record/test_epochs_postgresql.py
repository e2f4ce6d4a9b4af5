"""The fence in READ COMMITTED, where a read does not fence. The tests force both orders of two processes."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import text

from autoscaler.errors import StaleLedger, StateError
from autoscaler.model import ShardName
from autoscaler.record.daemons import NOW
from autoscaler.record.database import Database, locate
from autoscaler.record.fence import fence, next_epoch
from autoscaler.record.ledger import Ledger
from autoscaler.record.state import State
from tests.record.blocked import held_after, until_blocked
from tests.record.conftest import Opener, in_threads
from tests.record.samples import FLEET, at, decision, keep, save, scaler

pytestmark = pytest.mark.slow


@contextmanager
def another_process(opener: Opener) -> Iterator[Database]:
    """Connections that share only the server with the daemon under test."""
    database = Database(locate(opener.url, opener.folder))
    yield database
    database.close()


def begun(opener: Opener) -> tuple[State, Ledger]:
    state = opener.state()
    ledger = state.ledger(FLEET)
    keep(ledger, decision(0))
    ledger.recall([scaler()])
    return state, ledger


def generation_of(state: State) -> str:
    assert state.lease is not None
    assert state.lease.generation is not None
    return state.lease.generation


def test_the_server_runs_in_read_committed(postgresql_opener: Opener) -> None:
    """The fence is built for this level."""
    with postgresql_opener.state()._database.writing() as connection:
        assert connection.execute(text("SHOW transaction_isolation")).scalar_one() == "read committed"


def test_a_successor_that_begins_inside_our_commit_waits_for_it(postgresql_opener: Opener) -> None:
    """Otherwise it would read an old memory, and our commit would overwrite the memory that it writes."""
    state, ledger = begun(postgresql_opener)
    generation = generation_of(state)
    epochs: list[str] = []
    with (
        another_process(postgresql_opener) as other,
        another_process(postgresql_opener) as onlooker,
        held_after(state._database._engine, f"SELECT {NOW} AS now, epochs FROM fence") as (fenced, go_on),
    ):

        def supersede() -> None:
            with other.writing() as connection:
                epochs.append(next_epoch(connection, ShardName(FLEET), generation))

        with in_threads([lambda: save(ledger, decision(15))]) as ours:
            assert fenced.wait(60)
            with in_threads([supersede]) as theirs:
                until_blocked(onlooker)
                assert epochs == []
                go_on.set()
    assert (ours, theirs, len(epochs)) == ([], [], 1)
    assert postgresql_opener.archive().latest()["web"].now == at(15)
    with pytest.raises(StaleLedger):
        keep(ledger, decision(30))


def test_a_commit_waits_for_another_process_only_for_a_time(postgresql_opener: Opener) -> None:
    """The cycle fails at the lock time-out, and the next one tries again."""
    assert postgresql_opener.url is not None
    postgresql_opener.url += "?options=-c%20lock_timeout=50ms"
    state, ledger = begun(postgresql_opener)
    with another_process(postgresql_opener) as other, other.writing() as connection:
        next_epoch(connection, ShardName(FLEET), generation_of(state))
        with pytest.raises(StateError, match="lock timeout"):
            save(ledger, decision(15))


def test_a_new_epoch_begins_while_the_commits_of_other_shards_overlap(postgresql_opener: Opener) -> None:
    """PostgreSQL lets further FOR SHARE locks pass a waiting FOR UPDATE: with these commits it waited for 6 to 10 s."""
    state = postgresql_opener.state()
    generation, ended = generation_of(state), threading.Event()
    ledgers = [state.ledger(f"shard-{number}") for number in range(6)]

    def commit(number: int) -> None:
        ledger = ledgers[number]
        time.sleep(0.02 * number)
        while not ended.is_set():
            with other.writing() as connection:
                fence(connection, ledger.name, generation, ledger._epoch)
                time.sleep(0.12)

    with (
        another_process(postgresql_opener) as other,
        in_threads([lambda number=number: commit(number) for number in range(6)]) as raised,  # type: ignore[misc]
    ):
        time.sleep(0.3)
        began = time.monotonic()
        for _ in range(10):
            state.ledger(FLEET)
        took = time.monotonic() - began
        ended.set()
    assert raised == []
    assert took < 40, "without the queue each of them may wait for 10 s"


def test_a_session_of_a_machine_that_is_gone_ends_soon(postgresql_opener: Opener) -> None:
    """It would count as a daemon that stands by, for two hours by default."""
    with postgresql_opener.state()._database.writing() as connection:
        probes = [
            connection.execute(text(f"SHOW tcp_keepalives_{name}")).scalar_one()
            for name in ("idle", "interval", "count")
        ]
    assert probes == ["5", "2", "3"]
