"""`autoscaler describe` has the layout of `kubectl describe hpa`."""

import re
from datetime import UTC, datetime, timedelta

from autoscaler.cli.explain import query_text
from autoscaler.cli.instances import instances
from autoscaler.document import QueryDocument
from autoscaler.layout import Screen
from autoscaler.model import Direction, Failure, ManualControls, Override, Pause, Phase, Rules
from autoscaler.rules.brakes import Brakes
from autoscaler.rules.brakes.loss import LossBrake
from autoscaler.rules.brakes.outside_change import OutsideChangeBrake
from autoscaler.rules.brakes.unfulfilled import UnfulfilledBrake
from autoscaler.rules.fallback import Fallbacks
from autoscaler.rules.fallback.keys import MetricFallback
from autoscaler.rules.headroom import Headroom
from autoscaler.rules.schedules import Schedules
from autoscaler.view.instances import InstanceDocument, InstanceList, InstanceValue
from autoscaler.windows import ScheduleEntry
from tests.cli.scene import ServedScene
from tests.decide.build import CPU_60, LONG_AGO, NOW, QUEUE_15, samples, scaler, state, value
from tests.decide.build import instances as ready
from tests.replaced import replace
from tests.steering import steer
from tests.view.lives import Recorded, named


def test_the_layout_is_that_of_kubectl(online: ServedScene) -> None:
    """Users of kubectl find the same words in the same order."""
    said = online.run("describe", "web")
    assert said.code == 0
    titles = [line.split(":")[0] for line in said.lines if line and not line.startswith(" ")]
    wanted = ["Name", "Reference", "Metrics", "Min replicas", "Max replicas", "Behavior", "Replicas", "Conditions"]
    wanted.append("Events")
    assert [title for title in titles if title in wanted] == wanted
    assert re.search(
        r"^  resource cpu on instances  \(average, as a percentage of request\): +60% / 60%$", said.out, re.MULTILINE
    )
    assert re.search(r"^Replicas: +6 current / 6 desired$", said.out, re.MULTILINE)
    assert re.search(r"^Ready: +6 of 6$", said.out, re.MULTILINE)


def test_behavior_is_shown_with_its_defaults(online: ServedScene) -> None:
    """The output shows the values in force, also those that the configuration omits."""
    out = online.run("describe", "web").out
    assert (
        """  Scale Up:
    Stabilization Window: 0s
    Select Policy: Max
    Tolerance: 0.1
    Policies:
      - Type: Pods     Value: 4    Period: 15s
      - Type: Percent  Value: 100  Period: 15s
  Scale Down:
    Stabilization Window: 1m
    Select Policy: Min
    Tolerance: 0.1
    Policies:
      - Type: Pods  Value: 1  Period: 10s
"""
        in out
    )


def test_without_behavior_the_stabilization_window_is_shown(online: ServedScene) -> None:
    """The HPA's older algorithm has a window, too."""
    assert "Behavior:  <none> (stabilization window for scaling in: 5m)" in online.run("describe", "jobs").out


def test_conditions_are_a_table(online: ServedScene) -> None:
    lines = online.run("describe", "broken").lines
    start = lines.index("Conditions:")
    assert lines[start + 1].split() == ["Type", "Status", "Since", "Reason", "Message"]
    assert lines[start + 2].split() == ["----", "------", "-----", "------", "-------"]
    failing = next(line for line in lines[start:] if line.split()[:1] == ["ScalingActive"])
    assert re.match(r"  ScalingActive +False +[-\d: ]+ \(\w+ ago\) +FailedGetExternalMetric ", failing)


def test_a_condition_keeps_its_transition_time_over_a_restart(online: ServedScene) -> None:
    """The daemon reads the time from the state."""
    begun = datetime.now(UTC) - timedelta(minutes=15)
    for now, seconds in ((begun, 15), (begun + timedelta(minutes=10), 15)):
        life = Recorded(online.state.ledger("fleet"), named(scaler(QUEUE_15), "silent"))
        life.now = now
        life.step(Failure("no answer"), after=seconds)
    active = next(line for line in online.run("describe", "silent").lines if line.startswith("  ScalingActive "))
    assert re.search(r" \(1[45]m ago\) ", active)


def test_an_active_fallback_is_shown(online: ServedScene) -> None:
    """It is shown beside the missing value, among the conditions and as an event."""
    falling = replace(scaler(QUEUE_15), rules=Rules([Fallbacks((MetricFallback(timedelta(seconds=15), 9),))]))
    fallen = Recorded(online.state.ledger("fleet"), named(falling, "fallen"))
    fallen.now = datetime.now(UTC) - timedelta(seconds=60)
    for _ in range(3):
        fallen.step(Failure("no answer"))
    out = online.run("describe", "fallen").out
    assert re.search(r'^  "queue" \(target average value\): +<unknown> / 15 \(on its fallback\)$', out, re.MULTILINE)
    condition = (
        r"^  MetricFallbackActive +True +[-\d: ]+ \(\w+ ago\) +MetricUnavailable +external metric queue has had no"
    )
    assert re.search(condition, out, re.MULTILINE)
    assert re.search(r"Warning +MetricFallbackStarted .*its fallback is in effect", out)


def braked(online: ServedScene, wanted: int) -> str:
    """Describe an autoscaler whose size was set from 3 to 5 from outside, while the queue asks for `wanted`."""
    brakes, name = Brakes(UnfulfilledBrake(), LossBrake(50), OutsideChangeBrake()), f"braked-{wanted}"
    life = Recorded(online.state.ledger("fleet"), named(replace(scaler(QUEUE_15), rules=Rules([brakes])), name))
    life.now = datetime.now(UTC) - timedelta(seconds=60)
    life.queue(45)
    life.size = 5
    life.queue(15 * wanted)
    return online.run("describe", name).out


def test_a_brake_that_has_prevented_nothing_yet_is_shown(online: ServedScene) -> None:
    """It explains beforehand why the next change of load will have no effect."""
    out = " ".join(braked(online, 5).split())
    assert "Brake on: outsideChange: something else set the size from 3 to 5" in out
    assert "AbleToScale True" in out


def test_configured_brakes_are_listed(online: ServedScene) -> None:
    out = " ".join(braked(online, 6).split())
    assert "Brake unfulfilled: no scale-out after more than 30 % was missing for 10m without progress" in out
    assert "Brake loss: no scale-in for 5m after 50 % or more of the instances were gone at once" in out
    assert "Brake outsideChange: a size that another program or person set is kept for 10m" in out
    assert "Brake " not in online.run("describe", "jobs").out


def test_equal_events_are_counted(online: ServedScene) -> None:
    """`x4 over 46s` says how often and since when."""
    events = online.run("describe", "broken").out.partition("Events:\n")[2]
    assert re.search(r"Warning  FailedGetExternalMetric +\d+s \(x4 over \d+s\) +autoscaler  .*no answer", events)


def test_pauses_and_overrides_are_shown(online: ServedScene) -> None:
    """The next operator sees who set them, why and for how long."""
    now = online.daemon.clock.wall
    steer(
        online.state,
        "jobs",
        ManualControls(
            Pause(Direction.IN, "ann", "deploy", now, now + timedelta(hours=2)), Override(4, None, "bob", "", now, None)
        ),
    )
    out = online.run("describe", "jobs").out
    assert re.search(r"^Paused: +scaling in, by ann, for another (120m|119m): deploy$", out, re.MULTILINE)
    assert re.search(r"^Overridden: +min 4, by bob, until it is resumed$", out, re.MULTILINE)


def test_each_label_has_a_line(online: ServedScene) -> None:
    """Kubectl shows labels like this."""
    web, *others = online.daemon.scalers
    online.daemon.scalers = [replace(web, labels=(("example.org/zone", "a"), ("team", "shop"))), *others]
    lines = online.run("describe", "web").lines
    start = next(number for number, line in enumerate(lines) if line.startswith("Labels:"))
    assert [line.split()[-1] for line in lines[start : start + 2]] == ["example.org/zone=a", "team=shop"]
    assert "Labels:" not in online.run("describe", "jobs").out


def test_the_last_decision_is_summarized_in_one_line(online: ServedScene) -> None:
    """Also that of a failing autoscaler, whose error has no line of its own."""
    assert re.search(r"^Decision: +cpu 60% of 60% asks for 6", online.run("describe", "web").out, re.MULTILINE)
    assert re.search(r"^Decision: +queue has no value: no answer$", online.run("describe", "broken").out, re.MULTILINE)


def test_queries_and_the_values_of_each_instance_are_shown(online: ServedScene) -> None:
    """They are what an operator asks for next."""
    said = online.run("describe", "web")
    assert re.search(r"^    query: +vector\(0\)$", said.out, re.MULTILINE)
    assert re.search(r"^Instances:\n  Name +State +Age +cpu +Detail\n", said.out, re.MULTILINE)
    assert re.search(r"^  i-0 +ready +\d+\w+ +60%$", said.out, re.MULTILINE)


def test_of_many_instances_the_unready_are_shown_and_the_others_counted() -> None:
    """A list of ten thousand would scroll the conditions away."""
    found = [
        InstanceDocument(
            name=f"i-{number}",
            phase=Phase.RUNNING,
            ready=number > 0,
            deleting=False,
            started_at=NOW,
            detail="" if number else "readiness: HTTP 503",
            values=(InstanceValue(metric="load", value=None, text=None, ratio=None),),
        )
        for number in range(20)
    ]
    known = InstanceList(at=NOW, instances=tuple(found), total=5000, ready=4999)
    lines = list(instances(known, NOW, Screen()))
    assert len(lines) == 13
    assert lines[2].split() == ["i-0", "not", "ready", "0s", "-", "readiness:", "HTTP", "503;", "no", "usable",
                                "sample", "of", "load"]  # fmt: skip
    assert lines[-1] == "  and 4990 more; 4999 of all 5000 are ready"


def test_the_warm_up_in_force_and_the_instances_in_it_are_shown(online: ServedScene) -> None:
    """It may be the target's own, which no configuration shows."""
    life = Recorded(online.state.ledger("fleet"), named(scaler(CPU_60), "slow"), 2)
    life.now = datetime.now(UTC) - timedelta(seconds=60)
    old, new = ready(2)
    slow = replace(state(2, [old, replace(new, ready_transition=life.now)]), warm_up=timedelta(hours=1))
    life.step(samples([600, 900], life.now), target=slow)
    out = online.run("describe", "slow").out
    assert re.search(r"^Unmeasured: +1 instance warms up: i-1$", out, re.MULTILINE)
    assert "Instances:  (warm-up 1h)" in out
    assert re.search(r"^  i-1 +ready, warming up ", out, re.MULTILINE)
    assert "1 instance warms up: i-1" in online.run("explain", "slow").out


def test_a_query_of_several_lines_is_shown_in_one() -> None:
    """The line includes `match` and the name of the Prometheus."""
    query = QueryDocument(expr="sum by (asg)\n  (rate(x[1m]))\n", prometheus="long", match={"asg": "web"})
    assert query_text(query) == 'sum by (asg) (rate(x[1m])), those with asg="web" (Prometheus long)'


def test_open_schedules_are_shown_with_the_lead_time_that_they_lack(online: ServedScene) -> None:
    """The start-up time is that of the instances. An entry that opens as early needs no hint."""
    for lead_time, hint in ((0, True), (90, False)):
        always = ScheduleEntry("office", "UTC", "0 0 * * *", timedelta(days=2), min_replicas=4)
        early = replace(always, lead_time=timedelta(seconds=lead_time))
        name = f"early-{lead_time}"
        life = Recorded(
            online.state.ledger("fleet"), named(replace(scaler(QUEUE_15), rules=Rules([Schedules((early,))])), name), 4
        )
        life.now = datetime.now(UTC) - timedelta(seconds=60)
        slow = [replace(each, started_at=LONG_AGO - timedelta(seconds=90)) for each in ready(4)]
        life.step(value(60_000), target=state(4, slow))
        out = online.run("describe", name).out
        assert re.search(r"^Schedules: +office \(min 4\)$", out, re.MULTILINE)
        assert re.search(r"^Min replicas: +1 \(in force: 4\)$", out, re.MULTILINE)
        assert ("Lead time:" in out) is hint
        assert ("instances take 1m30s to become ready" in out) is hint


def test_a_reset_of_the_size_at_the_next_deployment_is_foretold(online: ServedScene) -> None:
    """Before the first outage, not after it; on the page, too."""
    life = Recorded(online.state.ledger("fleet"), named(scaler(QUEUE_15), "stacked"), 4)
    life.now = datetime.now(UTC) - timedelta(seconds=60)
    life.step(value(60_000), target=replace(state(4), reset_by="the stack shop sets it"))
    assert re.search(r"^Deployments: +the stack shop sets it$", online.run("describe", "stacked").out, re.MULTILINE)
    assert "Deployments: the stack shop sets it" in online.served.get("/autoscalers/stacked").text


def test_a_rule_with_a_text_of_its_own_is_shown(online: ServedScene) -> None:
    """A new rule needs no line in `describe`."""
    spared = replace(scaler(QUEUE_15), rules=Rules([Headroom(replicas=2)]))
    life = Recorded(online.state.ledger("fleet"), named(spared, "spared"))
    life.now = datetime.now(UTC) - timedelta(seconds=60)
    life.queue(45)
    assert re.search(r"^Headroom: +2 spare instances$", online.run("describe", "spared").out, re.MULTILINE)
