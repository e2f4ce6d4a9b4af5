"""A connection's limits across a takeover, and between shards that intend at the same moment, on a real PostgreSQL."""

from collections.abc import Sequence

import pytest

from autoscaler.model import ConnectionLimits, Decision, ShardName, TargetRef, shard_of
from autoscaler.record.housekeeping import Retention
from autoscaler.record.ledger import Ledger
from autoscaler.record.locks import Lock, wait_for
from tests.limits.fleet import limits
from tests.record.blocked import until_blocked
from tests.record.conftest import in_threads
from tests.record.hosts import Host, Hosts, two
from tests.record.samples import FLEET, at, decision, falling, keep, rising, scaler

pytestmark = pytest.mark.slow
TWO = [ShardName(FLEET, 1, 2), ShardName(FLEET, 2, 2)]
NAMES = [f"s{number}" for number in range(12)]


def names_of(name: ShardName) -> Sequence[str]:
    """Return those of NAMES whose targets this shard serves."""
    return [each for each in NAMES if shard_of(TargetRef(FLEET, each), 2) == name]


FIRST, SECOND = (names_of(name) for name in TWO)


def shards(host: Host, limited: ConnectionLimits, names: Sequence[str] = NAMES) -> list[Ledger]:
    """Return both shards of a leader, with their autoscalers. `names`: all that are configured."""
    host.state.follow(Retention(), [scaler(name, name) for name in names])
    found = []
    for shard in TWO:
        ledger = host.ledger(shard)
        ledger.follow([scaler(name, name) for name in names_of(shard) if name in names], limits=limited)
        found.append(ledger)
    return found


def intend(ledger: Ledger, made: Decision) -> list[str]:
    """Return the refusal, if any."""
    ledger.recall([scaler(made.name, made.name)])
    return [str(error) for error in ledger.intend([made]).values()]


def removals(ledger: Ledger, seconds: float) -> list[tuple[str, int]]:
    """Return names and instances of the removals."""
    return [(one.name, one.instances) for one in ledger.standing(at(seconds)).removals]


def test_two_shards_that_intend_at_the_same_moment_stay_within_the_limits(hosts: Hosts) -> None:
    """Each has seen enough room. One of them is refused, and writes nothing."""
    host = hosts.start()
    host.turn()
    ledgers = shards(host, limits(4, total=65))
    for ledger, names in zip(ledgers, (FIRST, SECOND), strict=True):
        for name in names:
            keep(ledger, decision(0, name, name))
    onlooker = hosts.start().state._database
    for made in (
        [falling(15, names[0]) for names in (FIRST, SECOND)],
        [rising(15, 9, names[1], names[1]) for names in (FIRST, SECOND)],
    ):
        said: list[list[str]] = []
        with onlooker.writing() as connection:
            wait_for(connection, Lock.LIMITS, FLEET)
            both = [
                lambda ledger=ledger, one=one, said=said: said.append(intend(ledger, one))
                for ledger, one in zip(ledgers, made, strict=True)
            ]
            racing = in_threads(both)
            raised = racing.__enter__()
            until_blocked(onlooker, 2)
        racing.__exit__(None, None, None)
        assert raised == []
        assert sorted(map(len, said)) == [0, 1]
    assert sum(instances for _, instances in removals(ledgers[0], 15)) == 3
    standing = ledgers[0].standing(at(15))
    assert sum(standing.sizes.values()) + standing.others == 64


def test_without_a_limit_no_shard_waits_for_another(hosts: Hosts) -> None:
    """Commits of a connection without limits take no lock of the connection."""
    first, second = two(hosts)
    ledger, _ = shards(first, ConnectionLimits())
    with second.state._database.writing() as connection:
        wait_for(connection, Lock.LIMITS, FLEET)
        assert intend(ledger, falling(0, FIRST[0])) == []
