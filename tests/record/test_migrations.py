"""A state of an older version is migrated in the transaction in which a daemon begins to lead it."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import Connection, inspect, text

from autoscaler.clock import SystemClock
from autoscaler.errors import StateError
from autoscaler.model import Direction, ManualControls, Notice, NoticeType, Pause
from autoscaler.record import schema, versions
from autoscaler.record.database import Database, locate
from autoscaler.record.state import State
from tests.record.blocked import until_blocked
from tests.record.conftest import Opener, each_database, in_threads
from tests.record.hosts import SECONDS, Host, Hosts, two
from tests.record.samples import FLEET, at, decision, keep, scaler

OLDER = schema.VERSION - 1


def add_column(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE notice ADD COLUMN extra TEXT"))


@pytest.fixture(autouse=True)
def _one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "MIGRATIONS", {OLDER: add_column})


def make_older(state: State, number: int = OLDER) -> None:
    """Mark the state as written by another version."""
    with state._database.writing() as connection:
        connection.execute(schema.schema_version.update().values(version=number))


def is_migrated(state: State) -> bool:
    with state._database.writing() as connection:
        number = connection.execute(schema.schema_version.select()).scalar_one()
        columns = {column["name"] for column in inspect(connection).get_columns("notice")}
    return bool(number == schema.VERSION and "extra" in columns)


@each_database
def test_a_daemon_that_leads_migrates_the_state_and_goes_on(opener: Opener) -> None:
    state = opener.state()
    keep(state.ledger(FLEET), decision(0))
    make_older(state)
    opener.close()
    state = opener.state()
    assert is_migrated(state)
    assert state.ledger(FLEET).recall([scaler()])["web"].at == at(0)


@each_database
def test_a_step_that_fails_changes_nothing(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(connection: Connection) -> None:
        add_column(connection)
        connection.execute(text("SELECT 1 FROM nowhere"))

    state = opener.state()
    make_older(state)
    opener.close()
    with monkeypatch.context() as broken:
        broken.setattr(versions, "MIGRATIONS", {OLDER: fail})
        with pytest.raises(StateError, match="nowhere"):
            opener.state()
        opener.close()
    assert is_migrated(opener.state())


def test_a_command_does_not_read_a_state_that_is_to_be_migrated(opener: Opener) -> None:
    make_older(opener.state())
    opener.close()
    with pytest.raises(StateError, match=r"was written by an older version.*start the daemon of this version"):
        opener.archive()


@pytest.mark.slow
def test_a_newer_daemon_stands_by_until_the_older_one_resigns(hosts: Hosts) -> None:
    """It does not read what it does not know, but it says who leads."""
    old = hosts.start()
    old.turn()
    make_older(old.state)
    new = hosts.start()
    new.turn()
    assert not new.leads
    with pytest.raises(StateError, match=r"migrates it when it leads itself.*autoscaler resign"):
        new.state.archive.latest()
    assert new.state.check() == (), "the state answers, so nothing is wrong with it"
    daemons = new.state.archive.daemons()
    assert daemons is not None
    assert daemons.leader is not None
    assert not is_migrated(old.state)
    old.lease.resign()
    new.turn()
    assert [new.leads, is_migrated(new.state)] == [True, True]
    assert new.state.archive.latest() == {}


@pytest.mark.slow
def test_an_older_daemon_never_takes_the_lease_of_a_newer_state(hosts: Hosts) -> None:
    new, old = hosts.start(), hosts.start()
    new.turn()
    old.turn()
    make_older(new.state, schema.VERSION + 1)  # as seen by the older daemon
    new.lease.resign()
    with pytest.raises(StateError, match="was written by a newer version"):
        hosts.live(int(3 * SECONDS), old)
    assert not old.leads


@pytest.mark.slow
def test_an_older_standby_neither_reads_nor_writes_a_newer_state(hosts: Hosts) -> None:
    """The leader has migrated the state. A pause in the older form could not be read by it."""
    new, old = two(hosts)
    make_older(new.state, schema.VERSION + 1)  # as seen by the older daemon
    for _ in range(2):
        with pytest.raises(StateError, match="was written by a newer version"):
            old.turn()
    uses: list[Callable[[], object]] = [
        old.state.check,
        old.state.archive.latest,
        lambda: change(old.state),
        lambda: tell(old.state),
    ]
    for use in uses:
        with pytest.raises(StateError, match="was written by a newer version"):
            use()
    assert old.state.archive.daemons() is not None, "it still says who leads"
    make_older(new.state, schema.VERSION)  # the leader's host went back to the older version
    old.turn()
    change(old.state)
    assert old.state.archive.steering().keys() == {"web"}


def tell(state: State) -> None:
    """Let the webhook be told of a reload."""
    state.outbox.add([Notice(NoticeType.RELOAD_REFUSED, "vm", "a mistake")], SystemClock().moment())


def change(state: State) -> None:
    """Pause an autoscaler."""
    asked = ManualControls(pause=Pause(Direction.IN, "ops", "sale", at(0), None))
    state.change_steering(lambda _: {"web": asked}, lambda *_: None, at(0))


@pytest.mark.slow
def test_a_migrated_state_takes_no_commit_of_the_older_leader(hosts: Hosts) -> None:
    old, new = hosts.start(), hosts.start()
    old.turn()
    ledger = old.ledger()
    keep(ledger, decision(0))
    make_older(old.state)
    outlived(hosts, old, new)
    assert is_migrated(new.state)
    with pytest.raises(StateError):
        keep(ledger, decision(15))


@pytest.mark.slow
def test_a_migration_waits_for_a_commit_that_is_under_way(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Both lock tables. In opposite orders, PostgreSQL would end one of them."""
    begun, migrating = Event(), Event()

    def add_column_of_specs(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE spec ADD COLUMN extra TEXT"))
        migrating.set()

    def take() -> None:
        begun.wait(60)
        new.turn()

    old, new = two(hosts)
    ledger = old.ledger()
    make_older(old.state)
    old.lease.resign()
    monkeypatch.setattr(versions, "MIGRATIONS", {OLDER: add_column_of_specs})
    with in_threads([take]) as raised, old.state._database.writing() as connection:
        old.state._context.fence(connection, ledger.name, ledger.generation, ledger._epoch)
        begun.set()
        with closing(Database(locate(hosts.plain_url, tmp_path))) as onlooker:
            until_blocked(onlooker)
        assert not migrating.is_set()
        connection.execute(text("SELECT 1 FROM spec"))
    assert raised == []
    assert new.leads


def outlived(hosts: Hosts, first: Host, second: Host) -> None:
    """End the lease of the first host, whose own clock stands still: its virtual machine was stopped."""
    second.turn()
    hosts.live(int(SECONDS) + 1, second, without=[first])
    assert second.leads
