"""The summary of an autoscaler in the list."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from autoscaler.cli.listing import WIDE_HEADER, cells, state_words
from autoscaler.decide import decide
from autoscaler.model import (
    HPA,
    Condition,
    ConditionType,
    Direction,
    History,
    Instance,
    ManualControls,
    Observation,
    Override,
    Pause,
    Phase,
    Proposed,
    Step,
    Written,
)
from autoscaler.view.level import Level
from autoscaler.view.story import why
from autoscaler.view.summary import AutoscalerList, Summary, summaries, summary
from autoscaler.view.verdict import AutoscalerState
from tests.decide.build import CPU_60, QUEUE_15, first_decision, instances, samples, scaler, state, value
from tests.decisions import NOW, bounds, condition, cpu, decision, rescale
from tests.replaced import replace

ABLE, ACTIVE, LIMITED = ConditionType.ABLE_TO_SCALE, ConditionType.SCALING_ACTIVE, ConditionType.SCALING_LIMITED
FREE = ManualControls()
PAUSED = ManualControls(Pause(Direction.BOTH, "ann", "load test", NOW, None))


def of(steering: ManualControls = FREE, **changes: Any) -> Summary:
    """Return the summary of a steady decision with these changes."""
    return summary("web", scaler(CPU_60), decision(**changes), steering, configured=True)


def with_condition(kind: ConditionType, reason: str, *, status: bool) -> tuple[Condition, ...]:
    kept = [known for known in decision().conditions if known.type != kind]
    return (*kept, condition(kind, reason, status=status))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (of(), AutoscalerState.STEADY),
        (of(error="no answer"), AutoscalerState.FAILING),
        (of(PAUSED), AutoscalerState.PAUSED),
        (of(PAUSED, error="no answer"), AutoscalerState.FAILING),
        (of(conditions=with_condition(ABLE, "Deploying", status=False)), AutoscalerState.HELD),
        (of(conditions=with_condition(ACTIVE, "ScalingDisabled", status=False)), AutoscalerState.DISABLED),
        (of(conditions=with_condition(LIMITED, "TooManyReplicas", status=True)), AutoscalerState.LIMITED),
        (of(conditions=with_condition(ABLE, "ScaleDownStabilized", status=True)), AutoscalerState.STABILIZING),
        (of(outcome=Written(5)), AutoscalerState.SCALING),
        (of(outcome=Proposed(5)), AutoscalerState.SCALING),
        (summary("web", scaler(CPU_60), None, ManualControls(), configured=True), AutoscalerState.UNKNOWN),
    ],
)
def test_the_most_urgent_state_is_shown(found: Summary, expected: AutoscalerState) -> None:
    assert found.state is expected


def test_a_failing_autoscaler_also_shows_its_pause() -> None:
    """An operator who repairs the metric must know that the size will not change."""
    assert of(PAUSED, error="no answer").states == (AutoscalerState.FAILING, AutoscalerState.PAUSED)
    assert state_words(of(PAUSED, error="no answer")) == "failing, paused"
    assert state_words(of(PAUSED)) == "paused"
    assert state_words(of(error="no answer")) == "failing"


def test_before_the_first_decision_the_configuration_is_shown() -> None:
    found = summary("web", scaler(CPU_60, QUEUE_15, maximum=9), None, ManualControls(), configured=True)
    assert (found.reference, found.minimum, found.maximum, found.current) == ("fleet/web", 1, 9, None)
    assert found.level is Level.NORMAL
    assert found.targets == "cpu: <not read>/60%, <not read>/15 (avg)"
    assert [metric.current for metric in found.metrics] == [None, None]


def test_metrics_that_were_not_read_are_no_failures() -> None:
    """Outside the bounds no metric is read; an operator would look for a fault in Prometheus."""
    assert of(metrics=()).targets == "cpu: <not read>/60%"
    assert of(metrics=(cpu(None),)).targets == "cpu: <unknown>/60%"


def test_an_override_is_in_force_before_the_next_decision() -> None:
    """`override` says so at once, and the commands after it must not say another thing."""
    override = ManualControls(override=Override(5, None, "ann", "event", NOW, None))
    found = of(override, bounds=bounds(3, 10), metrics=())
    assert (found.minimum, found.maximum) == (5, 100)
    made = decision(bounds=bounds(5, 8), manual=override)  # with the target's own maximum
    decided = summary("web", scaler(CPU_60), made, override, configured=True)
    assert (decided.minimum, decided.maximum) == (5, 8)
    ended = summary("web", scaler(CPU_60), made, FREE, configured=True)
    assert (ended.minimum, ended.maximum) == (1, 100)


def test_the_bounds_of_a_target_that_cannot_be_read_are_those_in_force() -> None:
    """The file's would hide the override."""
    override = ManualControls(override=Override(5, 9, "ann", "event", NOW, None))
    unread = decision(bounds=None, manual=override, error="no answer", current=None)
    found = summary("web", scaler(CPU_60), unread, override, configured=True)
    assert (found.minimum, found.maximum) == (5, 9)


def test_why_a_paused_one_stays_is_its_pause() -> None:
    """The pause stands first: without it the rest might be otherwise."""
    trace = (Step(HPA, "TooFewReplicas", 2, 3, "minReplicas is 3"),)
    assert of(trace=trace).told == "minReplicas is 3"
    assert of(PAUSED, trace=trace).told == "paused by ann until it is resumed: load test; minReplicas is 3"
    inwards = ManualControls(Pause(Direction.IN, "ann", "", NOW, None))
    assert of(inwards, trace=trace).told.startswith("scaling in paused by ann until it is resumed: no reason given; ")
    assert cells(of(PAUSED, trace=trace), NOW, WIDE_HEADER)[-1] == of(PAUSED, trace=trace).told


@pytest.mark.parametrize(("direction", "load"), [(Direction.BOTH, 600), (Direction.IN, 6), (Direction.OUT, 1_200)])
def test_a_pause_that_holds_a_size_is_told_once(direction: Direction, load: int) -> None:
    """The rule's step says it as the list does."""
    known = History(manual=ManualControls(Pause(direction, "ann", "sale", NOW, None)))
    made = decide(scaler(CPU_60, maximum=10), Observation(state(4), (samples([load] * 4),)), known, NOW)
    assert summary("web", scaler(CPU_60), made, known.manual, configured=True).told.count("by ann") == 1


def test_an_ended_pause_is_told_no_more_before_the_next_decision() -> None:
    known = History(manual=ManualControls(Pause(Direction.BOTH, "ann", "sale", NOW, None)))
    made = decide(scaler(CPU_60), Observation(state(4), (samples([600] * 4),)), known, NOW)
    assert summary("web", scaler(CPU_60), made, known.manual, configured=True).why == why(made)
    assert "by ann" in why(made)
    assert "by ann" not in summary("web", scaler(CPU_60), made, FREE, configured=True).told


def test_the_reason_for_a_limit_is_shown() -> None:
    trace = (
        Step(HPA, "ValidMetricFound", 3, 12, "cpu"),
        Step(HPA, "TooManyReplicas", 12, 10, "maxReplicas is 10"),
    )
    assert of(trace=trace).limited_by == "maxReplicas is 10"
    assert of().limited_by is None


def test_the_first_warning_of_the_target_is_the_problem() -> None:
    """If workers cannot start, neither the size nor a metric shows it."""
    assert of(warnings=("worker web-3 ended", "no ports")).problem == "worker web-3 ended"
    assert of().problem is None


@pytest.mark.parametrize(
    ("ready", "missing", "text", "level"),
    [
        (5, (), None, Level.NORMAL),
        (4, ("web-5",), "1 of 5 instances has no sample of cpu: web-5", Level.NORMAL),
        (
            1,
            ("web-2", "web-3", "web-4", "web-5"),
            "4 of 5 instances have no sample of cpu: web-2, web-3, web-4 and 1 more",
            Level.WARNING,
        ),
    ],
)
def test_instances_without_a_sample_are_listed(
    ready: int, missing: Sequence[str], text: str | None, level: Level
) -> None:
    """After a scale-out the new instance has none until it is scraped; many without one are a warning."""
    found = of(metrics=(replace(cpu(), ready=ready, missing=missing),))
    assert found.state is AutoscalerState.STEADY
    assert (found.unmeasured, found.level) == (text, level)
    assert found.metrics[0].missing == len(missing)


def test_instances_that_warm_up_are_named_once() -> None:
    """Their samples do not count, and nothing is wrong with that."""
    warming = replace(cpu(), ready=3, aside=("web-4", "web-5"))
    found = of(metrics=(warming, replace(warming, name="memory")))
    assert (found.unmeasured, found.level) == ("2 instances warm up: web-4, web-5", Level.NORMAL)
    assert [each.warming for each in found.metrics] == [2, 2]


def test_a_removed_autoscaler_is_marked() -> None:
    found = summaries(["old", "web"], {"web": scaler(CPU_60)}, {"old": decision("old"), "web": decision()}, {}, NOW)
    assert [(each.name, each.configured, each.reference) for each in found] == [
        ("old", False, "fleet/old-asg"),
        ("web", True, "fleet/web"),
    ]


def test_without_a_configuration_everything_counts_as_configured() -> None:
    """The command line may read a state without a configuration."""
    assert summaries(["old"], None, {"old": decision("old")}, {}, NOW)[0].configured


def test_an_expired_override_is_not_shown() -> None:
    expired = ManualControls(override=Override(2, None, "ann", "", NOW - timedelta(hours=2), NOW - timedelta(hours=1)))
    found = summaries(["web"], {"web": scaler(CPU_60)}, {}, {"web": expired}, NOW)
    assert found[0].steering.override is None


def test_a_list_is_sent_in_camel_case_and_read_back() -> None:
    sent = AutoscalerList(
        autoscalers=(of(PAUSED), summary("b", None, rescale("b"), ManualControls(), configured=False)), total=2
    )
    text = sent.model_dump_json()
    assert '"limitedBy"' in text
    assert '"lastDecision":"2026-05-04T12:00:00Z"' in text
    assert AutoscalerList.model_validate_json(text) == sent


def test_unknown_keys_of_a_newer_daemon_are_ignored() -> None:
    known = of().model_dump(mode="json")
    assert Summary.model_validate(known | {"somethingNew": 1}) == of()


@pytest.mark.parametrize("odd", [{"conditions": (None,)}, {"metrics": (None,)}, {"current": "many"}])
def test_a_decision_that_cannot_be_shown_does_not_affect_the_others(odd: dict[str, Any]) -> None:
    latest = {"web": decision(**odd), "fine": decision("fine")}
    found = summaries(("web", "fine"), {"web": scaler(CPU_60)}, latest, {}, NOW)
    assert [each.state for each in found] == [AutoscalerState.FAILING, AutoscalerState.STEADY]
    assert str(found[0].error).startswith("its last decision cannot be shown: ")
    assert (found[0].minimum, found[0].maximum) == (1, 100)


def test_ready_instances_are_counted() -> None:
    """A pool whose workers crash has the desired size and no ready instance."""
    unready = (*instances(1), Instance("i-9", Phase.RUNNING, ready=False), Instance("i-8", Phase.PENDING, ready=None))
    leaving = Instance("i-7", Phase.RUNNING, ready=True, deleting=True)
    of_unknown_health = Instance("i-6", Phase.RUNNING, ready=None, weight=2)
    workers = (*unready, leaving, of_unknown_health)
    made = first_decision(scaler(QUEUE_15), state(5, workers), value(75_000))
    found = summary("web", scaler(QUEUE_15), made, FREE, configured=True)
    assert (found.ready, found.current) == (3, 5)


def test_without_a_list_of_instances_the_ready_count_is_unknown() -> None:
    """Both 0 and 5 would be wrong."""
    made = first_decision(scaler(QUEUE_15), state(5, ()), value(75_000))
    assert made.ready is None
    assert first_decision(scaler(QUEUE_15, minimum=0), state(0, ()), value(0)).ready == 0
