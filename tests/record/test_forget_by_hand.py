"""`forget` deletes everything about one autoscaler, unless a live daemon serves it."""

from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select

from autoscaler.errors import StateError
from autoscaler.record import Archive, schema
from autoscaler.record.database import Database, locate
from autoscaler.record.forgetting import forget
from tests.record.conftest import Opener
from tests.record.hosts import SECONDS, WEB, Hosts
from tests.record.samples import FLEET, at, decision, save, scaler
from tests.record.test_claims import again, serve

BOTH = [scaler("web"), scaler("fine", "fine")]


def decided(opener: Opener) -> None:
    """Record decisions of a daemon that has ended, about two autoscalers. One of them had another target before."""
    ledger = opener.ledger()
    for seconds, web in enumerate((scaler("web", "old"), scaler("web"))):
        scalers = [web, scaler("fine", "fine")]
        assert serve(ledger, *scalers) == {}
        save(ledger, *(decision(15 * seconds, each.name, each.target.name) for each in scalers))
    opener.close()


def names_in(archive: Archive) -> set[str]:
    return set(archive.latest())


def claimed(url: str | None, folder: Path) -> set[str]:
    """Return the keys of all claims in the state."""
    with closing(Database(locate(url, folder))) as database, database.writing() as connection:
        return set(connection.execute(select(schema.serves.c.key)).scalars())


def test_everything_about_it_is_deleted_and_nothing_about_others(opener: Opener) -> None:
    """This includes its former targets. It begins anew when it is served again."""
    decided(opener)
    gone = forget(opener.url, opener.folder, "web")
    assert sorted(map(str, gone)) == ["fleet/old", "fleet/web-asg"]
    assert claimed(opener.url, opener.folder) == {"fine", '["fleet","fine"]'}
    assert names_in(opener.archive()) == {"fine"}
    ledger = opener.ledger()
    assert serve(ledger, *BOTH) == {}
    found = ledger.recall(BOTH)
    assert found["web"].at is None
    assert found["fine"].at == decision(15).now


def test_an_autoscaler_that_a_live_daemon_serves_is_not_forgotten(opener: Opener) -> None:
    """Otherwise the daemon would write it anew, or fail. An autoscaler that it no longer serves is forgotten."""
    decided(opener)
    ledger = opener.ledger()
    assert serve(ledger, *BOTH) == {}
    with pytest.raises(StateError, match=r"'web' is served by shard fleet of .*, or stop that daemon"):
        forget(opener.url, opener.folder, "web")
    assert again(ledger, *BOTH) == {}
    assert serve(ledger, BOTH[1]) == {}
    assert len(forget(opener.url, opener.folder, "web")) == 2
    save(ledger, decision(30, "fine", "fine"))
    assert serve(ledger, *BOTH) == {}
    assert ledger.recall(BOTH)["web"].at is None


def test_an_autoscaler_of_a_removed_connection_can_be_forgotten_beside_the_daemon(opener: Opener) -> None:
    """A reload ended the shard of the connection, and no other shard releases its claims."""
    state = opener.state()
    ledger = state.ledger(FLEET)
    assert serve(ledger, *BOTH) == {}
    save(ledger, decision(0))
    ledger.end()
    state.tidy(at(60))
    assert [str(each) for each in forget(opener.url, opener.folder, "web")] == ["fleet/web-asg"]
    assert claimed(opener.url, opener.folder) == set()


def test_an_unknown_name_is_an_error(opener: Opener) -> None:
    """The name may be misspelt."""
    decided(opener)
    with pytest.raises(StateError, match="knows nothing of an autoscaler 'wbe'"):
        forget(opener.url, opener.folder, "wbe")
    assert names_in(opener.archive()) == {"web", "fine"}


@pytest.mark.slow
def test_a_daemon_without_a_lease_serves_nothing(hosts: Hosts) -> None:
    """It was killed, and no other daemon has taken its place."""
    (host,) = hosts.joined(1)
    ledger = host.ledger(WEB)
    assert serve(ledger, scaler()) == {}
    save(ledger, decision(0))
    with pytest.raises(StateError, match=", pid "):
        forget(hosts.url, hosts._folder, "web")
    hosts.advance(SECONDS)
    assert [str(each) for each in forget(hosts.url, hosts._folder, "web")] == ["fleet/web-asg"]
    assert claimed(hosts.url, hosts._folder) == set()
