"""Claims of several daemons on one PostgreSQL, whose configurations differ for a while."""

import pytest

from autoscaler.errors import StaleLedger
from autoscaler.model import ShardName
from autoscaler.record.locks import Lock, wait_for
from tests.record.hosts import SECONDS, Host, Hosts
from tests.record.samples import FLEET, scaler
from tests.record.test_claims import again, claims_of, on, serve

pytestmark = pytest.mark.slow

OLD, NEW = ShardName(FLEET), ShardName("renamed")
MINE = on("renamed", "web", "web-asg")
"""The autoscaler of `samples`, under the new name of its connection."""


def two(hosts: Hosts) -> tuple[Host, Host]:
    """One daemon serves the old configuration; the other has the new one and holds its shard."""
    old, new = hosts.start(), hosts.start()
    old.turn([OLD])
    new.turn([NEW])
    new.turn([NEW])
    assert [*old.leases.held, *new.leases.held] == [OLD, NEW]
    return old, new


def test_one_daemon_scales_the_targets_of_a_connection_that_is_being_renamed(hosts: Hosts) -> None:
    """The other daemon names it, and continues when both have the new configuration."""
    old, new = two(hosts)
    first, second = old.ledger(OLD), new.ledger(NEW)
    assert serve(first, scaler()) == {}
    unheld = serve(second, MINE, on("renamed", "fine", "fine"))
    assert unheld.keys() == {"web"}
    assert ", pid " in unheld["web"]
    assert "shard fleet of" in unheld["web"]
    assert again(first, scaler()) == {}
    old.leases.share([NEW], [OLD])
    assert again(second, MINE) == {}
    with pytest.raises(StaleLedger):
        serve(first, scaler("late", "late"))


def test_the_claims_and_the_epoch_of_a_dead_daemon_end(hosts: Hosts) -> None:
    """A daemon that was only stopped for a while could commit in that epoch."""
    old, new = two(hosts)
    first, second = old.ledger(OLD), new.ledger(NEW)
    serve(first, scaler())
    assert serve(second, MINE).keys() == {"web"}
    hosts.live(int(SECONDS) + 2, new, needs=[NEW])
    assert again(second, MINE) == {}
    with pytest.raises(StaleLedger):
        first.save_adapter_memory(scaler().target, {"late": 1})


def test_the_claims_of_a_dead_daemon_move_with_its_shard(hosts: Hosts) -> None:
    """No other shard gets them between the end of the lease and the first cycle of the new holder."""
    old, new = two(hosts)
    serve(old.ledger(OLD), scaler())
    hosts.live(int(SECONDS) + 2, new, needs=[OLD, NEW])
    assert {OLD, NEW} == new.leases.held
    taken, other = new.ledger(OLD), new.ledger(NEW)
    assert len(claims_of(taken)) == 2
    assert serve(other, MINE).keys() == {"web"}
    assert serve(taken, scaler()) == {}


def test_while_another_daemon_locks_the_claims_only_autoscalers_without_a_claim_wait(hosts: Hosts) -> None:
    """That daemon may be stopped while it claims."""
    old, new = two(hosts)
    ledger = new.ledger(NEW)
    fine = on("renamed", "fine", "fine")
    serve(ledger, fine)
    with old.state._database.writing() as connection:
        wait_for(connection, Lock.CLAIMS)
        unheld = serve(ledger, fine, MINE)
    assert unheld.keys() == {"web"}
    assert again(ledger, fine, MINE) == {}
