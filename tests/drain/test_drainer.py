"""What a shard's drains do when the back end, another daemon or one of them misbehaves."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import pytest

from autoscaler.drain.drainer import Drainer
from autoscaler.errors import TargetForbidden, TargetUnavailable
from autoscaler.model import AwaitingDrain, DrainOutcome
from autoscaler.rules.drain import DrainRule, NodeDrainRule
from autoscaler.target import NodeDrain
from tests.clocks import MovedClock
from tests.drain.backend import PAUSES, WEB, BackEnd, NodesBackEnd, Shard

ONE: Final = AwaitingDrain("i-1", ("10.0.0.1",))
TWO: Final = AwaitingDrain("i-2", ("10.0.0.2",))
COMMAND: Final = DrainRule(timedelta(seconds=60), command=("/bin/true",))
NEVER: Final = DrainRule(timedelta(seconds=60), command=("/bin/false",))
NOMAD: Final = DrainRule(timedelta(seconds=60), nomad=NodeDrainRule("nomad", timedelta(seconds=600)))


@pytest.fixture
def back() -> Iterator[BackEnd]:
    made = BackEnd()
    yield made
    made.goes_on.set()


def test_a_release_that_fails_is_tried_again(back: BackEnd) -> None:
    """The back end may throttle, or a permission be missing for a while; the report says so."""
    back.failing = [TargetForbidden("CompleteLifecycleAction: not authorized")]
    shard = Shard(back, COMMAND)
    shard.cycle(ONE)
    assert shard.wait_for_release("i-1").outcome is DrainOutcome.DONE
    assert ("it was not let go: CompleteLifecycleAction: not authorized") in repr(shard.logger.lines)


def test_a_drain_continues_while_the_waiting_instances_are_unknown(back: BackEnd) -> None:
    """A failed answer of the back end about hooks ends no drain."""
    nodes = NodesBackEnd({"i-1": [NodeDrain.DRAINING] * 3 + [NodeDrain.DONE]})
    shard = Shard(back, NOMAD, nodes)
    shard.cycle(ONE)
    shard.cycle(ONE, known=False)
    assert shard.wait_for_release("i-1").outcome is DrainOutcome.DONE


def test_a_hanging_drain_affects_only_its_own_instance(back: BackEnd) -> None:
    """Foreign code may never return. A neighbour is drained and released."""
    back.hanging = {"i-1"}
    shard = Shard(back, COMMAND)
    shard.cycle(ONE, TWO)
    shard.wait_for_release("i-2")
    assert back.released == ["i-2"]
    shard.cycle(ONE, TWO)
    assert shard.report("i-1").released is False


def test_the_instance_of_a_drain_past_its_timeout_is_released_at_once(back: BackEnd) -> None:
    """Its timeout counts from its beginning, also on the daemon that continues it."""
    shard = Shard(back, NEVER)
    shard.cycle(ONE, ago=61)
    assert shard.wait_for_release("i-1").outcome is DrainOutcome.TIMED_OUT


def test_a_clock_that_is_set_during_a_cycle_ends_no_drain(back: BackEnd) -> None:
    """The cycle has read the wall clock when the clock is set forward by an hour."""
    shard = Shard(back, NEVER)
    shard.drainer = Drainer(back, {}, MovedClock(timedelta(hours=1)), shard.logger, pauses=PAUSES)
    shard.cycle(ONE)
    shard.wait_for_detail("i-1", "exited with 1")
    assert back.released == []
    shard.drainer.close()


def test_a_shard_that_was_superseded_lets_nothing_go(back: BackEnd) -> None:
    """The shard that serves the target now drains it."""
    current = threading.Event()
    current.set()
    shard = Shard(back, NEVER, is_current=current.is_set)
    shard.cycle(ONE)
    shard.wait_for_detail("i-1", "exited with 1")
    current.clear()
    shard.rule = COMMAND
    shard.cycle(ONE)
    shard.wait(lambda: not _threads(), "the drain to end")
    assert back.released == []
    assert shard.report("i-1").outcome is None


def test_further_instances_wait_for_a_drain_to_end(back: BackEnd) -> None:
    """A bound on threads, and on commands at a time; the report says that it waits."""
    shard = Shard(back, NEVER, most=1)
    shard.cycle(ONE)
    shard.cycle(ONE, TWO)
    assert shard.report("i-2").detail == "it waits, because 1 drains are under way"
    shard.rule = COMMAND
    shard.cycle(ONE, TWO)
    shard.wait_for_release("i-1")
    shard.wait(lambda: not _threads(), "the first drain to end")
    shard.cycle(ONE, TWO, ended={"i-1"})
    shard.wait_for_release("i-2")
    assert back.released == ["i-1", "i-2"]


def test_instances_that_wait_for_their_turn_are_kept_waiting_by_the_back_end(
    back: BackEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise Auto Scaling would end them at the timeout of its hook. None is let go before its turn."""
    monkeypatch.setattr("autoscaler.drain.drainer.STEP_SECONDS", 0.01)
    shard = Shard(back, NEVER, most=1)
    waiting = [AwaitingDrain(f"i-{number}", ("10.0.0.2",), timedelta(seconds=1)) for number in (2, 3)]
    shard.cycle(ONE, *waiting)
    shard.wait(lambda: min(back.extended.count(each.instance) for each in waiting) >= 2, "two heartbeats of each")
    shard.drainer.close()
    shard.wait(lambda: "drains-waiting" not in [each.name for each in threading.enumerate()], "the heartbeats to end")
    assert back.released == []


def test_an_instance_that_is_gone_is_drained_no_further(back: BackEnd) -> None:
    """Its drain has ended, whatever ended it."""
    shard = Shard(back, NEVER)
    shard.cycle(ONE, TWO)
    shard.wait_for_detail("i-1", "exited with 1")
    shard.cycle(TWO)
    assert [each.instance for each in shard.drainer.reports(WEB)] == ["i-2"]
    shard.drainer.keep([])
    assert shard.drainer.reports(WEB) == ()
    shard.wait(lambda: not _threads(), "both to stop")
    assert back.released == []


def test_a_changed_rule_applies_to_the_next_attempt(back: BackEnd) -> None:
    """A reload repairs a wrong command in the middle of a drain."""
    shard = Shard(back, NEVER)
    shard.cycle(ONE)
    shard.wait_for_detail("i-1", "exited with 1")
    shard.rule = COMMAND
    shard.cycle(ONE)
    shard.wait_for_release("i-1")


def test_a_node_is_drained_until_it_is_done(back: BackEnd) -> None:
    """An error is tried again. The node's deadline is no later than the drain's timeout."""
    nodes = NodesBackEnd({"i-1": [TargetUnavailable("no leader"), NodeDrain.DRAINING, NodeDrain.DONE]})
    shard = Shard(back, NOMAD, nodes)
    shard.cycle(ONE)
    assert shard.wait_for_release("i-1").outcome is DrainOutcome.DONE
    assert [(name, addresses) for name, addresses, _ in nodes.asked] == [("i-1", ("10.0.0.1",))] * 3
    assert all(deadline <= timedelta(seconds=60) for *_, deadline in nodes.asked)
    assert {keys["detail"] for keys in shard.logger.of("drain_goes_on")} == {
        "no leader",
        "its node drains",
    }


def test_an_instance_without_a_node_has_nothing_to_drain(back: BackEnd) -> None:
    """It is released at once, and the operator sees the reason."""
    shard = Shard(back, NOMAD, NodesBackEnd({"i-1": [NodeDrain.NO_NODE]}))
    shard.cycle(ONE)
    report = shard.wait_for_release("i-1")
    assert (report.outcome, report.detail) == (DrainOutcome.DONE, "no single node of nomad is this instance")


def test_a_broken_adapter_costs_the_instances_that_it_concerns(back: BackEnd) -> None:
    """Foreign code may raise anything; the drain ends at its timeout."""

    class Broken(NodesBackEnd):
        def drain_node(self, *_: Any) -> NodeDrain:
            raise KeyError("node")

    shard = Shard(back, NOMAD, Broken({}))
    shard.rule = DrainRule(timedelta(seconds=0.3), nomad=NOMAD.nomad)
    shard.cycle(ONE)
    report = shard.wait_for_release("i-1")
    assert report.outcome is DrainOutcome.TIMED_OUT
    assert "the nomad action failed: KeyError" in report.detail


def test_an_adapter_without_drains_has_none() -> None:
    """Its targets never have instances that wait; nothing begins by mistake."""
    shard = Shard(BackEnd(), COMMAND)
    shard.drainer = Drainer(NodesBackEnd({}), {}, shard.clock, shard.logger)
    shard.cycle(ONE)
    assert shard.drainer.reports(WEB) == ()


def _threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name in ("drain-i-1", "drain-i-2")]
