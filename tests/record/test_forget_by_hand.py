"""`forget` deletes everything about one autoscaler, unless a live daemon serves it."""

from datetime import timedelta

import pytest

from autoscaler.errors import StateError
from autoscaler.record import schema
from autoscaler.record.archive import Archive
from autoscaler.record.forgetting import forget
from tests.record.claims import again, moment, serve
from tests.record.conftest import Opener, each_database
from tests.record.hosts import SECONDS, WEB, Hosts
from tests.record.samples import FLEET, decision, keep, save, scaler
from tests.replaced import replace

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


def forgotten(opener: Opener, name: str, seconds: float) -> list[str]:
    return [str(each) for each in forget(opener.url, opener.folder, name, moment(seconds))]


@each_database
def test_a_forgotten_autoscaler_leaves_nothing_and_the_others_keep_all(opener: Opener) -> None:
    """This includes its former targets. It begins anew when it is served again."""
    decided(opener)
    assert sorted(forgotten(opener, "web", 16)) == ["fleet/old", "fleet/web-asg"]
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
    for seconds in (15, 74):
        with pytest.raises(StateError, match=r"'web' is served by the running daemon; first remove it .* stop that"):
            forgotten(opener, "web", seconds)
    assert again(ledger, *BOTH) == {}
    assert serve(ledger, BOTH[1]) == {}
    assert len(forgotten(opener, "web", 76)) == 2
    save(ledger, decision(30, "fine", "fine"))
    assert serve(ledger, *BOTH) == {}
    assert ledger.recall(BOTH)["web"].at is None


def test_an_autoscaler_with_a_long_sync_period_is_served_for_four_of_them(opener: Opener) -> None:
    """It is decided about once in five minutes."""
    ledger, slow = opener.ledger(), replace(scaler(), sync_period=timedelta(minutes=5))
    assert serve(ledger, slow) == {}
    save(ledger, decision(0), scalers={"web": slow})
    with pytest.raises(StateError, match="is served by the running daemon"):
        forgotten(opener, "web", 1199)
    assert forgotten(opener, "web", 1200) == ["fleet/web-asg"]


def test_a_damaged_autoscaler_can_be_forgotten_beside_the_daemon(opener: Opener) -> None:
    """It is the remedy if its specification cannot be read, too."""
    state = opener.state()
    keep(state.ledger(FLEET), decision(0))
    with state._database.writing() as connection:
        connection.execute(schema.spec.update().values(body=b""))
    assert forgotten(opener, "web", 61) == ["fleet/web-asg"]


def test_after_a_step_of_the_clock_a_served_autoscaler_is_not_forgotten(opener: Opener) -> None:
    """The daemon's newest decision seems to be in the future until its next one."""
    keep(opener.ledger(), decision(3600))
    with pytest.raises(StateError, match="is served by the running daemon"):
        forgotten(opener, "web", 0)


def test_an_autoscaler_of_a_removed_connection_can_be_forgotten_beside_the_daemon(
    opener: Opener,
) -> None:
    """A reload ended the shard of the connection."""
    state = opener.state()
    ledger = state.ledger(FLEET)
    assert serve(ledger, *BOTH) == {}
    save(ledger, decision(0))
    ledger.end()
    assert forgotten(opener, "web", 61) == ["fleet/web-asg"]


def test_an_unknown_name_is_an_error(opener: Opener) -> None:
    """The name may be misspelt."""
    decided(opener)
    with pytest.raises(StateError, match="knows nothing of an autoscaler 'wbe'"):
        forgotten(opener, "wbe", 100)
    assert names_in(opener.archive()) == {"web", "fine"}


@pytest.mark.slow
def test_a_daemon_without_a_lease_serves_nothing(hosts: Hosts) -> None:
    """It was killed, and no other daemon has taken its place."""
    host = hosts.start()
    host.turn()
    ledger = host.ledger(WEB)
    assert serve(ledger, scaler()) == {}
    save(ledger, decision(0))
    with pytest.raises(StateError, match=", pid "):
        forget(hosts.url, hosts._folder, "web", moment(SECONDS - 1))
    hosts.advance(SECONDS)
    assert [str(each) for each in forget(hosts.url, hosts._folder, "web", moment(SECONDS))] == ["fleet/web-asg"]


@pytest.mark.slow
@pytest.mark.parametrize("wrong_by", [600, -600])
def test_the_clock_of_the_leader_s_host_does_not_count(hosts: Hosts, wrong_by: float) -> None:
    """It is wrong by ten minutes. By that clock alone the autoscaler would not be served, or for ten minutes more."""
    host = hosts.start(wrong_by)
    host.turn()
    ledger = host.ledger(WEB)
    ledger.follow_clock(host.clock.moment())
    ledger.recall([scaler()])
    save(ledger, decision(wrong_by))
    for _ in range(10):
        hosts.advance(5)
        host.turn()
    with pytest.raises(StateError, match=", pid "):
        forget(hosts.url, hosts._folder, "web", moment(50))
    for _ in range(140):
        hosts.advance(5)
        host.turn()
    assert len(forget(hosts.url, hosts._folder, "web", moment(750))) == 1
