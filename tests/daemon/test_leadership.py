"""The leader serves every shard, a standby none."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from autoscaler.act.actuator import Actuator
from autoscaler.clock import SystemClock
from autoscaler.cycle import Ports
from autoscaler.errors import AdapterError, StateError
from autoscaler.model import Call, Decision, Outcome, ShardName, TargetRef
from autoscaler.record.ledger import Ledger
from autoscaler.runtime.building import BuiltAdapter
from autoscaler.runtime.wanted import WantedAdapter
from autoscaler.target.contract.harness import RecordingLogger
from tests.daemon.leading import NAMES, OF, FakeLease, Member, member
from tests.daemon.runtime import FakeAdapter, running_runtime
from tests.decisions import NOW
from tests.waiting import until


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Member]:
    """A daemon that stands by."""
    with member(tmp_path, monkeypatch) as made:
        yield made


def test_a_standby_serves_nothing_and_builds_no_adapter(one: Member) -> None:
    """An adapter may hold connections and threads, and ask its back end at once."""
    one.follow(*NAMES)
    one.turn()
    one.follow(*NAMES[:2])
    assert one.built == []
    assert one.served() == set()
    assert one.harness.runtime.served(cast("Any", None)) == ()


def test_a_daemon_that_takes_the_lease_serves_everything(one: Member) -> None:
    """It needs no reload."""
    one.follow(*NAMES)
    one.take()
    one.turn()
    assert one.served() == set(NAMES)
    assert one.harness.runtime.shards.once()
    assert {asked for adapter in one.built for asked in adapter.asked} == {frozenset([name]) for name in NAMES}
    assert one.harness.log.events == ["lease_gained"]


def test_a_leader_that_loses_the_lease_serves_nothing(one: Member) -> None:
    """Its adapters are closed. When it leads again, each shard begins anew."""
    one.lead()
    one.turn()
    one.lose()
    one.turn()
    one.turn()
    assert one.served() == set()
    assert [adapter.closed for adapter in one.built] == [1] * len(NAMES)
    one.take("second")
    one.turn()
    assert one.served() == set(NAMES)
    assert one.harness.log.events == ["lease_gained", "lease_lost", "standing_by", "lease_gained"]
    assert one.leadership.lost == 1


def test_metrics_follow_a_leader_that_can_begin_no_shard(one: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise they would show nothing of its autoscalers, and no alert would fire."""
    one.follow(*NAMES)
    one.turn()
    before = one.harness.runtime.changes

    def refuse(*_: object) -> Ledger:
        raise StateError("the database is away")

    monkeypatch.setattr(one.harness.state, "ledger", refuse)
    one.take()
    one.turn()
    assert one.served() == set()
    assert one.harness.runtime.changes > before


def test_shards_that_cannot_begin_let_others_begin(one: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attempt takes so long that no time is left for another one, and the next one is due by then."""
    runtime = one.harness.runtime
    monkeypatch.setattr(runtime, "_state_seconds", 0.0)
    monkeypatch.setattr(runtime, "_retry_seconds", 0.0)
    build = runtime._builder.build

    def fail_but_for_the_last(name: ShardName, wanted: WantedAdapter) -> BuiltAdapter:
        if name.number < OF:
            raise AdapterError("its back end is away")
        return build(name, wanted)

    monkeypatch.setattr(runtime._builder, "build", fail_but_for_the_last)
    monkeypatch.setattr(
        runtime._ledgers, "begin", lambda name, _: one.harness.state.ledger(name.adapter, name.number, name.of)
    )
    one.follow(*NAMES)
    one.take()
    for _ in range(OF):
        one.turn()
    assert [name.number for name in runtime.running] == [OF]


def test_a_leadership_that_ended_between_two_turns_ends_its_shards(one: Member) -> None:
    """Another daemon may have led meanwhile, so what the shards remember may be out of date."""
    one.lead()
    one.turn()
    one.take("second")
    one.turn()
    one.harness.runtime.supervise()
    assert one.served() == set(NAMES)
    assert [adapter.closed for adapter in one.built] == [1] * len(NAMES) + [0] * len(NAMES)
    assert one.leadership.lost == 1
    assert one.harness.runtime.shards.once()


def test_without_a_renewal_the_leader_stops(one: Member) -> None:
    """Also if the thread hangs in an unresponsive database."""
    one.lead()
    one.turn()
    one.lease.left = 0.0  # the last renewal is as long ago as the renew deadline
    one.turn()
    one.turn()
    assert one.served() == set()
    assert one.harness.log.events == ["lease_gained", "lease_lost"]
    assert one.leadership.lost == 1
    one.lease.left = 15
    one.take("second")
    one.turn()
    assert one.served() == set(NAMES)


def test_a_standby_is_ready_and_a_leader_when_its_first_cycles_have_ended(one: Member) -> None:
    """A leader that serves nothing would be called ready, and nothing would be scaled anywhere."""
    one.follow(*NAMES)
    assert one.harness.runtime.begun()
    one.take()
    assert not one.harness.runtime.begun()
    one.turn()
    assert not one.harness.runtime.begun()
    assert one.harness.runtime.shards.once()
    assert one.harness.runtime.begun()


def test_a_daemon_says_whether_it_leads(one: Member) -> None:
    """For `systemctl status`."""
    settings = cast("Any", type("Settings", (), {"autoscalers": (1, 2, 3)}))
    one.follow(*NAMES)
    line = one.harness.runtime.status_line
    assert line(settings) == "stands by, with 3 autoscalers; the leader: two, pid 7"
    one.lease.leader = None
    assert line(settings) == "stands by, with 3 autoscalers; the leader: none"
    one.take()
    one.turn()
    assert line(settings) == "leads: 3 autoscalers on 1 connection"
    one.lose()
    one.leadership._failed("the state was written by a newer version")
    said = "the lease is lost, so this daemon scales nothing: the state was written by a newer version"
    assert line(settings) == said, "the cause is not always a silent database"


def test_a_resignation_waits_for_the_running_cycle(one: Member) -> None:
    """The cycle may still write, and a standby takes the lease at once."""
    one.lead(NAMES[0])
    one.turn()
    adapter = one.begin_cycle()
    resigning = threading.Thread(target=one.harness.runtime.resign)
    resigning.start()
    until(lambda: one.served() == set(), "no further cycle")
    assert one.lease.resigned == []
    assert one.leadership.leads, "the cycle may end and be recorded"
    adapter.go_on.set()
    resigning.join(60)
    assert one.lease.resigned == [False]
    assert adapter.closed == 1
    one.turn()
    assert one.harness.log.events == ["lease_gained", "lease_resigned"]
    assert one.leadership.lost == 0, "it is no loss"


def test_a_daemon_with_a_hanging_call_resigns_and_leaves_the_lease_to_its_end(
    one: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call may still write. A standby that took the lease at once would write beside it."""
    one.lead(NAMES[0])
    one.turn()
    monkeypatch.setattr(one.shard()._actuator.writers, "writing", lambda: True)
    with pytest.raises(StateError, match="a call hangs, so the lease was not freed; a standby leads within 30 s"):
        one.harness.runtime.resign()
    assert one.lease.resigned == [True]
    monkeypatch.undo()


def test_a_resignation_without_the_database_says_what_came_of_it(one: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon serves nothing any more, although the lease is still its own."""

    def fail(*, hanging: bool) -> None:
        one.lease.generation = None
        raise StateError("the database is away")

    one.lead(NAMES[0])
    one.turn()
    monkeypatch.setattr(one.lease, "resign", fail)
    said = "^the database is away, so the lease was not freed; a standby leads within 30 s all the same$"
    with pytest.raises(StateError, match=said):
        one.harness.runtime.resign()
    one.turn()
    assert one.served() == set()
    assert "lease_resigned" not in one.harness.log.events


def test_only_a_leader_resigns(one: Member) -> None:
    """The answer names the daemon to ask."""
    one.follow(*NAMES)
    with pytest.raises(StateError, match="this daemon stands by; the leader is two, pid 7"):
        one.harness.runtime.resign()
    assert one.lease.resigned == []


def test_the_only_daemon_of_a_state_does_not_resign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing would be scaled any more."""
    with (
        running_runtime(tmp_path, monkeypatch, FakeAdapter) as harness,
        pytest.raises(StateError, match="an SQLite state has one daemon; stop it instead"),
    ):
        harness.runtime.resign()


def test_a_hanging_write_of_a_former_leader_is_abandoned(one: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    """The adapter is closed, and the log says so."""
    one.lead(NAMES[0])
    one.turn()
    shard, (adapter,) = one.shard(), one.built
    monkeypatch.setattr(shard._actuator.writers, "writing", lambda: True)
    one.lose()
    one.turn()
    one.turn()
    assert adapter.closed == 0
    monkeypatch.setattr(shard._actuator.writers, "overdue_seconds", lambda: 45.0)  # three of its periods
    one.turn()
    assert adapter.closed == 1
    assert one.harness.log.events == ["lease_gained", "lease_lost", "standing_by", "shard_left_behind"]
    monkeypatch.undo()


class Writing:
    """Stands for the actuator. Keeps the call of each write."""

    def act(self, decisions: Sequence[Decision], call: Call, busy: frozenset[TargetRef]) -> Mapping[str, Outcome]:
        self.call = call
        return {}


def test_a_write_must_end_before_the_lease(lease: FakeLease, log: RecordingLogger) -> None:
    """Then a successor may write."""
    lease.generation, leadership, actuator, unused = "first", lease.leadership(log), Writing(), cast("Any", None)
    ports = Ports(unused, unused, cast("Actuator", actuator), unused, SystemClock(), leadership.seconds_left)

    def deadline(of_cycle: float) -> float:
        ports.act((), Call(NOW, of_cycle), frozenset())
        return actuator.call.deadline

    lease.left = 6.0
    now = time.monotonic()
    assert deadline(now + 100) == pytest.approx(now + 6, abs=1)
    assert deadline(now + 3) == now + 3
    lease.left = -1.0
    assert deadline(now + 3) <= time.monotonic()
