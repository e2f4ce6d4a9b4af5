"""Daemons that share a state on a real PostgreSQL: which one serves which shard, and from when."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from autoscaler.errors import StaleLedger, StateError
from autoscaler.model import ShardName
from autoscaler.record import Retention, State, schema, target_text
from autoscaler.record.member_rows import dead_members, prolong
from tests.record.conftest import in_threads
from tests.record.hosts import ALL, DEADLINE, LEASE, SECONDS, SHARDS, WEB, Host, Hosts, configured
from tests.record.postgresql import empty_state
from tests.record.samples import at, decision, keep, rising, save, scaler, written

pytestmark = pytest.mark.slow


def outlive(hosts: Hosts, first: Host, second: Host) -> None:
    """End the lease of the first host, whose own clock stands still: its virtual machine was stopped."""
    second.turn()
    hosts.live(int(SECONDS), second, without=[first])
    assert second.count() == SHARDS


def test_one_daemon_serves_everything(hosts: Hosts) -> None:
    (only,) = hosts.joined(1)
    assert (only.count(), only.leases.members, only.leases.seconds_left()) == (SHARDS, 1, DEADLINE)


@pytest.mark.parametrize(("count", "expected"), [(2, [4, 4]), (3, [2, 3, 3])])
def test_several_daemons_serve_equal_numbers_of_shards(hosts: Hosts, count: int, expected: list[int]) -> None:
    found = hosts.joined(count)
    assert sorted(host.count() for host in found) == expected
    assert {name for host in found for name in host.leases.held} == set(ALL)


def test_the_first_daemon_of_a_machine_serves_its_local_shards(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second daemon there cannot serve pools whose workers the first one runs. It waits for the first one's end."""
    first, second, elsewhere = hosts.start(), hosts.start(), hosts.start()
    for host, name in ((first, "one"), (second, "one"), (elsewhere, "two")):
        monkeypatch.setattr("socket.gethostname", lambda name=name: name)
        host.leases.renew()
        hosts.advance(1)
    needs = [*ALL, ShardName("pools")]

    def turn(*members: Host) -> None:
        for _ in range(4):
            for host in members:
                host.leases.renew()
                host.leases.share(needs if host is not elsewhere else ALL, host.leases.excess, {"pools"})

    turn(second, first, elsewhere)
    assert [ShardName("pools") in host.leases.held for host in (first, second, elsewhere)] == [True, False, False]
    assert [host.count() for host in (first, second, elsewhere)] == [3, 3, 3]
    first.leases.leave()
    turn(second, elsewhere)
    assert ShardName("pools") in second.leases.held


def test_a_daemon_that_joins_gets_only_its_share(hosts: Hosts) -> None:
    found = hosts.joined(2)
    before = [host.leases.held for host in found]
    third = hosts.start()
    for _ in range(4):
        for host in (*found, third):
            host.turn()
    assert third.count() == 2
    assert all(host.leases.held < held for held, host in zip(before, found, strict=True))


def test_a_shard_in_use_is_given_back_when_its_cycle_ends(hosts: Hosts) -> None:
    """A running cycle ends first, and no other daemon begins one meanwhile."""
    (first,) = hosts.joined(1)
    second = hosts.start()
    second.turn()
    for _ in range(3):
        first.leases.renew()
        first.leases.share(ALL, ())
        second.turn()
    assert (first.count(), second.count()) == (SHARDS, 0)
    assert len(first.leases.excess) == 4


def test_the_shards_of_a_dead_daemon_are_taken_over_after_its_lease(hosts: Hosts) -> None:
    first, second = hosts.joined(2)
    hosts.live(int(SECONDS) - 1, second)
    assert first.leases.seconds_left() < 0
    assert second.count() == 4
    hosts.live(1, second)
    assert (second.count(), second.leases.members) == (SHARDS, 1)


def test_tokens_are_compared_within_one_session(hosts: Hosts) -> None:
    """A new session may reach another server with an old row."""
    _, second = hosts.joined(2)
    hosts.live(int(SECONDS) - 1, second)
    second.leases._database._engine.dispose()
    hosts.live(int(SECONDS), second)
    assert second.count() == 4
    hosts.live(1, second)
    assert second.count() == SHARDS


def test_simultaneous_commits_of_shards_do_not_delay_a_takeover(hosts: Hosts) -> None:
    """If leases used the shards' sessions, each read would be in another session."""
    _, second = hosts.joined(2)
    for turn in range(int(SECONDS)):
        hosts.advance(1)
        with ExitStack() as commits:
            for _ in range(turn % 3):
                commits.enter_context(second.state._database.writing())
            second.turn()
    assert second.count() == SHARDS


def test_the_duration_of_a_read_does_not_count(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """The token may have changed while the answer was on its way. So time counts from the first answer with it until
    before the next question.
    """
    _, second = hosts.joined(2)
    second.leases._database._engine.dispose()
    slow = dead_members

    def dead(connection: Connection, clock: Callable[[], timedelta]) -> Mapping[str, str]:
        times = iter([clock(), clock() + timedelta(seconds=3)])
        return slow(connection, lambda: next(times))

    monkeypatch.setattr("autoscaler.record.leases.dead_members", dead)
    second.turn()
    hosts.live(int(SECONDS) + 2, second)
    assert second.count() == 4
    hosts.live(1, second)
    assert second.count() == SHARDS


@pytest.mark.parametrize("step", [3600, -3600, 60, -60])
def test_a_step_of_the_database_s_clock_ends_no_lease(hosts: Hosts, step: float) -> None:
    """Both renew, and each keeps its shards: a takeover would let two write."""
    first, second = hosts.joined(2)
    held = first.leases.held, second.leases.held
    ledger = first.ledger(min(first.leases.held))
    hosts.live(3, first, second)
    hosts.step(step)
    for host in (second, first):
        host.turn()
    assert ledger.is_current()
    hosts.live(int(SECONDS), first, second)
    assert (first.leases.held, second.leases.held) == held
    assert ledger.is_current()


@pytest.mark.parametrize("step", [3600, -3600, 60, -60])
def test_the_shards_of_a_dead_daemon_are_served_after_a_step_of_the_databases_clock(hosts: Hosts, step: float) -> None:
    """A step back by an hour left them unserved for an hour; a step forward let another daemon write too early."""
    first, second = hosts.joined(2)
    hosts.live(3, second)
    hosts.step(step)
    hosts.live(int(SECONDS) - 4, second)
    assert second.count() == 4
    hosts.live(1, second)
    assert second.count() == SHARDS
    assert first.leases.seconds_left() < 0


@pytest.mark.parametrize("theirs", [8, 30])
def test_each_lease_lasts_as_long_as_its_own_daemon_says(hosts: Hosts, theirs: int) -> None:
    """`ha` is changed on one host after another. A daemon with longer times must not count as dead."""
    seconds = timedelta(seconds=theirs)
    first = hosts.start(options=replace(LEASE, duration=seconds, renew_deadline=seconds / 2))
    second = hosts.start()
    for _ in range(3):
        first.turn()
        second.turn()
    hosts.live(theirs - 1, second)
    assert second.count() == 4
    hosts.live(1, second)
    assert second.count() == SHARDS


@pytest.mark.parametrize("wrong_by", [600, -600])
def test_a_host_s_wrong_clock_moves_no_lease(hosts: Hosts, wrong_by: float) -> None:
    """It is wrong by ten minutes: by its clock a lease would be over at once, or never."""
    wrong, right = hosts.start(wrong_by), hosts.start()
    for _ in range(20):
        for host in (wrong, right):
            host.turn()
        hosts.advance(2)
    assert (wrong.count(), right.count()) == (4, 4)
    assert wrong.leases.seconds_left() == right.leases.seconds_left() == DEADLINE - 2


def test_a_daemon_that_lost_its_lease_commits_nothing_and_joins_anew(hosts: Hosts) -> None:
    """It was stopped for longer than its lease, and continues in the middle of a cycle."""
    (first,) = hosts.joined(1)
    ledger = first.ledger()
    keep(ledger, decision(0))
    ledger.recall([scaler()])
    second = hosts.start()
    outlive(hosts, first, second)
    assert ledger.is_current()  # as far as it knows, so its announcement is confirmed first
    with pytest.raises(StaleLedger, match="this daemon has lost its lease"):
        ledger.intend([rising(15)])
    assert not ledger.is_current()
    with pytest.raises(StaleLedger):
        save(ledger, decision(15))
    before, first_id = second.leases.held, second.leases.member
    first.leases.renew()
    first.leases.share(ALL, ())
    assert first.leases.member not in (None, first_id)
    assert (first.leases.held, second.leases.held) == (frozenset(), before)


def test_a_commit_of_decisions_from_before_the_takeover_is_refused(hosts: Hosts) -> None:
    """So is one that needs no renewal: of a cycle that writes to no target."""
    (first,) = hosts.joined(1)
    ledger = first.ledger()
    ledger.recall([scaler()])
    second = hosts.start()
    outlive(hosts, first, second)
    with pytest.raises(StaleLedger, match="superseded"):
        save(ledger, decision(0))
    assert second.state.archive.latest() == {}


def test_an_announced_write_renews_the_lease(hosts: Hosts) -> None:
    (first,) = hosts.joined(1)
    ledger = first.ledger()
    ledger.recall([scaler()])
    hosts.advance(8)
    assert first.leases.seconds_left() == DEADLINE - 8
    ledger.intend([rising(10)])
    assert first.leases.seconds_left() == DEADLINE


def test_a_lease_counts_from_before_its_request(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer may take long. So the lease ends here before it ends for the others, which saw the renewal later."""
    (only,) = hosts.joined(1)

    def slow(connection: Connection, member: str) -> bool:
        found = prolong(connection, member)
        hosts.advance(4)
        return found

    monkeypatch.setattr("autoscaler.record.leases.prolong", slow)
    hosts.advance(2)
    only.leases.renew()
    assert only.leases.seconds_left() == DEADLINE - 4
    hosts.advance(1)
    ledger = only.ledger()
    ledger.recall([scaler()])
    ledger.intend([rising(10)])
    assert only.leases.seconds_left() == DEADLINE - 4


def test_after_a_sleep_of_the_machine_a_daemon_knows_that_its_lease_is_over(hosts: Hosts) -> None:
    """It need not ask the database: CLOCK_BOOTTIME includes the sleep."""
    (first,) = hosts.joined(1)
    ledger = first.ledger()
    assert ledger.is_current()
    first.clock.sleep(DEADLINE)
    assert not ledger.is_current()


def test_a_lease_that_is_over_is_not_renewed(hosts: Hosts) -> None:
    """Even if no other daemon took a shard, it joins as a new member and reads its shards anew."""
    (first,) = hosts.joined(1)
    member = first.leases.member
    hosts.advance(DEADLINE)
    first.leases.renew()
    assert first.leases.member not in (None, member)
    assert first.leases.held == frozenset()
    hosts.live(int(SECONDS) + 1, first)
    assert first.count() == SHARDS


def test_the_shards_of_a_daemon_that_leaves_are_free_at_once(hosts: Hosts) -> None:
    first, second = hosts.joined(2)
    first.state.close()
    second.turn()
    assert second.count() == SHARDS


def test_a_daemon_that_gives_up_holds_nothing_and_the_others_wait_for_its_lease(hosts: Hosts) -> None:
    """One of its writes may be on its way until then."""
    first, second = hosts.joined(2)
    before = first.leases.held
    first.leases.give_up()
    assert (first.leases.held, first.leases.seconds_left()) == (frozenset(), 0)
    hosts.live(int(SECONDS) - 1, second, first)
    assert not before & (first.leases.held | second.leases.held)
    hosts.live(4, second, first)
    assert (first.count(), second.count()) == (4, 4)


def test_only_a_shard_that_is_held_has_a_ledger(hosts: Hosts) -> None:
    first, second = hosts.joined(2)
    name = min(second.leases.held)
    with pytest.raises(StateError, match=f"this daemon does not hold shard {name};"):
        first.ledger(name)


def test_a_shard_that_is_taken_over_brings_the_memory_of_the_other_host(hosts: Hosts) -> None:
    """It has the windows and the announced write, which is settled first."""
    first, second = hosts.joined(2)
    one, other = (first, second) if WEB in first.leases.held else (second, first)
    theirs = one.ledger()
    keep(theirs, decision(0))
    theirs.recall([scaler()])
    theirs.intend([rising(15)])
    expected = theirs.recall([scaler()])["web"]
    one.state.close()
    other.turn()
    ours = other.ledger()
    ours.follow([scaler()])
    assert ours.recall([scaler()])["web"] == expected
    assert expected.pending is not None
    save(ours, written(rising(15)))
    assert other.state.archive.latest()["web"].now == at(15)


def followed(host: Host) -> dict[str, str]:
    """Return the name and the digest of each autoscaler that a member's configuration has."""
    with host.state._context.readers.begin() as connection:
        return {row.name: row.digest for row in connection.execute(select(schema.follows))}


def loaded(host: Host) -> list[int | None]:
    with host.state._context.readers.begin() as connection:
        return list(connection.execute(select(schema.member.c.loaded)).scalars())


def test_every_daemon_knows_the_configurations_of_the_others(hosts: Hosts) -> None:
    """It knows a hash of each autoscaler, so that any daemon can show what differs."""
    first, second = hosts.joined(2)
    first.leases.follow(configured(scaler("a"), scaler("b")), "one")
    before = followed(second)
    first.leases.follow(configured(scaler("b", maximum=30), scaler("a"), scaler("c")), "two")
    after = followed(second)
    assert (sorted(before), sorted(after)) == (["a", "b"], ["a", "b", "c"])
    assert (before["a"] == after["a"], before["b"] == after["b"]) == (True, False)
    first.leases.follow(configured(scaler("c")), "three")
    assert followed(second) == {"c": after["c"]}
    first.state.close()
    assert followed(second) == {}


def test_a_daemon_serves_the_autoscalers_of_its_own_configuration_in_its_shards(hosts: Hosts) -> None:
    """During a rollout the holder of a shard may not have an autoscaler in its configuration yet."""
    first, second = hosts.joined(2)
    one, other = (first, second) if WEB in first.leases.held else (second, first)
    one.leases.follow(configured(scaler("old")), "one")
    other.leases.follow(configured(scaler("new")), "two")
    assert one.state.archive.served(["old"]) == {}, "its shard has not claimed it yet"
    ledger = one.ledger()
    ledger.follow([scaler("old")], targets={"old": scaler().target})
    ledger.claim()
    shared = one.state.archive.ownership()
    assert shared is not None
    place = next(each.place for each in shared.members if each.id == one.leases.member)
    for host in (one, other):
        assert host.state.archive.served(["old", "new", "nobody's"]) == {"old": {target_text(scaler().target): place}}
        assert host.state.archive.served(["new"]) == {}
    hosts.advance(SECONDS)
    assert other.state.archive.served(["old"]) == {}, "its lease is over"


def test_a_daemon_that_joins_anew_keeps_the_time_of_its_configuration(hosts: Hosts) -> None:
    """Otherwise the old configuration of a daemon that missed a reload would count as the wanted one."""
    (first,) = hosts.joined(1)
    first.leases.follow(configured(scaler("a")), "one")
    expected = loaded(first)
    hosts.advance(SECONDS)
    first.leases.renew()
    for _ in range(2):
        first.turn()
    assert loaded(first) == expected
    assert sorted(followed(first)) == ["a"]


def test_two_daemons_that_start_at_once_on_an_empty_database_share_it(postgresql: str, tmp_path: Path) -> None:
    """Both find no tables."""
    url = empty_state(postgresql)
    opened: list[State] = []

    def start() -> None:
        opened.append(State.open(url, tmp_path, Retention()))
        assert opened[-1].leases is not None
        opened[-1].leases.renew()

    with in_threads([start] * 3) as raised:
        pass
    for state in opened:
        state.close()
    assert (len(opened), raised) == (3, [])
