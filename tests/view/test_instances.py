"""How the instances of a target are shown."""

from datetime import timedelta

import pytest

from autoscaler.cli.instances import instances as table
from autoscaler.decide import decide
from autoscaler.errors import TargetUnavailable
from autoscaler.layout import Screen
from autoscaler.model import (
    AwaitingDrain,
    DrainOutcome,
    DrainReport,
    History,
    Instance,
    Memories,
    MetricType,
    Observation,
    Phase,
    Reading,
    Rules,
    TargetState,
    TargetType,
)
from autoscaler.record.values import Record
from autoscaler.rules.drain import Drain, DrainAction, DrainDocument, DrainMemory, DrainRule
from autoscaler.view.instances import MAX_INSTANCES, InstanceList, instances
from tests.decide.build import CPU_60, NOW, QUEUE_15, metric, samples, scaler, state, value
from tests.decide.build import instances as running
from tests.replaced import replace

INFLIGHT = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 30_000, "inflight")


def of_cycle(target: TargetState | TargetUnavailable, *readings: Reading) -> InstanceList | None:
    """Return the instances of a cycle of an autoscaler with cpu, a Pods metric and a queue."""
    autoscaler = scaler(CPU_60, INFLIGHT, QUEUE_15)
    observed = Observation(target, readings)
    return instances(Record(autoscaler, decide(autoscaler, observed, History(), NOW), observed, History()))


def shown(target: TargetState, *readings: Reading) -> InstanceList:
    found = of_cycle(target, *(readings or (samples({}), samples({}), value(0))))
    assert found is not None
    return found


def test_each_instance_has_a_value_for_each_per_instance_metric() -> None:
    """Utilization is in percent of the instance's request. A queue belongs to no instance."""
    found = shown(state(1), samples({"i-0": 750}, request=1500), samples({"i-0": 45_000}), value(0))

    cpu, inflight = found.instances[0].values
    assert (cpu.metric, cpu.value, cpu.text) == ("cpu", 50, "50%")
    assert (inflight.metric, inflight.value, inflight.text, inflight.ratio) == ("inflight", 45, "45", 1.5)


def test_a_drain_under_way_is_shown_with_its_instance() -> None:
    """What drains, since when, by which action, and how it goes."""
    autoscaler = replace(scaler(QUEUE_15), rules=Rules([DrainRule(command=("/bin/drain",))]))
    leaving = [replace(each, deleting=True) for each in running(2)]
    target = replace(state(0, leaving), awaiting_drain=(AwaitingDrain("i-0"), AwaitingDrain("i-1")))
    over = Drain("i-1", NOW, DrainAction.COMMAND, "", NOW, DrainOutcome.DONE)
    under_way = Drain("i-0", NOW - timedelta(minutes=2), DrainAction.COMMAND)
    before = History(rules=Memories({DrainRule.name: DrainMemory((under_way, over))}))
    observed = Observation(target, (value(0),), drains=(DrainReport("i-0", "/bin/drain exited with 3"),))
    found = instances(Record(autoscaler, decide(autoscaler, observed, before, NOW), observed, before))
    assert found is not None
    drains = {each.name: dict(each)["drain"] for each in found.instances}
    began = NOW - timedelta(minutes=2)
    assert drains["i-0"] == DrainDocument(action=DrainAction.COMMAND, began=began, detail="/bin/drain exited with 3")
    assert drains["i-1"] is None
    lines = " ".join(table(found, NOW, Screen(None)))
    assert "drains by command for 2m: /bin/drain exited with 3" in lines


def test_an_instance_without_a_sample_has_no_value() -> None:
    """Zero would be a load."""
    found = shown(state(1), samples({}), samples({"i-0": 0}), value(0))

    assert [each.value for each in found.instances[0].values] == [None, 0]


@pytest.mark.parametrize(
    ("change", "ready"),
    [({}, True), ({"ready": None}, True), ({"ready": False}, False), ({"deleting": True}, False),
     ({"phase": Phase.PENDING}, False), ({"phase": Phase.FAILED}, False)],
)  # fmt: skip
def test_an_instance_is_ready_if_decisions_count_it_as_ready(change: dict[str, object], ready: bool) -> None:
    """A target whose back end reports no health must not look unready."""
    one: Instance = replace(running(1)[0], **change)

    found = shown(state(1, [one]))

    assert (found.instances[0].ready, found.ready, found.total) == (ready, int(ready), 1)


def test_an_instance_that_warms_up_is_ready() -> None:
    """It serves, and its samples do not count yet."""
    since = NOW - timedelta(seconds=30)
    new = replace(running(1)[0], name="new", ready_transition=since)
    target = replace(state(3, [*running(1), new, replace(new, name="gone", deleting=True)]), warm_up=2 * (NOW - since))

    found = shown(target)

    assert {each.name: (each.ready, each.warming) for each in found.instances} == {
        "i-0": (True, False),
        "new": (True, True),
        "gone": (False, False),
    }
    assert found.warm_up_seconds == 2 * (NOW - since)


def test_instances_in_trouble_come_first_then_those_with_most_load() -> None:
    first, *_ = running(1)
    workers = [
        replace(first, name="calm"),
        replace(first, name="hot"),
        replace(first, name="silent"),
        replace(first, name="leaving", deleting=True),
        replace(first, name="pending", phase=Phase.PENDING),
        replace(first, name="unready", ready=False),
        replace(first, name="failed", phase=Phase.FAILED),
    ]
    values = {each.name: 900 if each.name == "hot" else 100 for each in workers if each.name != "silent"}

    found = shown(state(7, workers), samples(values), samples(values), value(0))

    assert [each.name for each in found.instances] == [
        *("failed", "unready", "pending", "leaving", "silent", "hot", "calm")
    ]


def test_only_the_first_of_many_instances_are_listed() -> None:
    found = shown(state(MAX_INSTANCES + 7))

    assert (len(found.instances), found.total, found.ready) == (MAX_INSTANCES, MAX_INSTANCES + 7, MAX_INSTANCES + 7)


def test_an_unreadable_target_has_no_list_of_instances() -> None:
    """An empty list would mean that nothing runs."""
    assert of_cycle(TargetUnavailable("the back end did not answer"), samples({}), samples({}), value(0)) is None


def test_a_cycle_without_detail_has_no_list_of_instances() -> None:
    """Beyond state.detail only the decision is kept."""
    autoscaler = scaler(CPU_60)
    decision = decide(autoscaler, Observation(state(1), (samples([500]),)), History(), NOW)

    assert instances(Record(autoscaler, decision, None, None)) is None
