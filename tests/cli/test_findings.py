"""The findings that `check --live` derives from an observation."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from autoscaler.cli.findings import Findings, findings_of
from autoscaler.errors import TargetError, TargetNotScalable, TargetUnavailable
from autoscaler.model import (
    Autoscaler,
    Failure,
    Hold,
    HoldReason,
    Instance,
    InstanceReading,
    Limits,
    MetricSpec,
    MetricTarget,
    MetricType,
    Observation,
    Phase,
    Query,
    Reading,
    Rules,
    Sample,
    TargetRef,
    TargetState,
    TargetType,
    ValueReading,
    VictimOrder,
    VictimRule,
)
from autoscaler.observe.failure import Unsampled
from autoscaler.rules.fallback import Fallbacks
from autoscaler.rules.fallback.keys import MetricFallback
from tests.replaced import replace

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_CPU: Final = MetricSpec(
    MetricType.RESOURCE, "cpu", MetricTarget(TargetType.UTILIZATION, 60), Query("rate(cpu[1m])"), request=1000
)
_QUEUE: Final = MetricSpec(MetricType.EXTERNAL, "queue", MetricTarget(TargetType.AVERAGE_VALUE, 1000), Query("queue"))


def scaler(*metrics: MetricSpec) -> Autoscaler:
    return Autoscaler("web", TargetRef("fleet", "web-asg"), 1, 5, metrics)


def instance(name: str, **more: Any) -> Instance:
    long_ago = NOW - timedelta(days=1)
    given = {"phase": Phase.RUNNING, "ready": True, "ready_transition": long_ago, "started_at": long_ago}
    return Instance(name, **{**given, "identities": frozenset({name, f"{name}:9100"}), **more})


def state(*instances: Instance, size: int | None = None, **more: Any) -> TargetState:
    return TargetState(len(instances) if size is None else size, len(instances), instances, **more)


def reading(*names: str, milli: int = 900, **more: Any) -> InstanceReading:
    requests = dict.fromkeys(("a", "b", "c"), 1000)
    return InstanceReading(
        {name: Sample(milli, NOW, timedelta(minutes=1)) for name in names}, **{"requests": requests, **more}
    )


def found(target: TargetState | TargetError, *readings: Reading | Failure) -> Findings:
    metrics = [_QUEUE if isinstance(each, ValueReading) else _CPU for each in readings]
    return findings_in(Observation(target, tuple(readings)), scaler(*metrics))


def findings_in(seen: Observation, of: Autoscaler) -> Findings:
    return Findings("web", list(findings_of(of, seen, NOW)))


def line(block: Findings, label: str) -> tuple[str, bool]:
    """Return the text of a finding and whether it is wrong."""
    return next((line.text, line.wrong) for line in block.lines if line.label == label)


def test_a_working_target_shows_the_proposed_size() -> None:
    """A newcomer looks for this line."""
    block = found(state(instance("a"), instance("b")), reading("a", "b"))
    assert not block.wrong
    assert line(block, "target") == ("size 2, 2 instances: 2 ready", False)
    assert line(block, "cpu") == ("90% of 60%, ratio 1.500 x 2 ready -> 3", False)
    assert line(block, "now") == ("cpu 90% of 60% asks for 3", False)


def test_instances_are_counted_by_state() -> None:
    """Pending, failed and leaving instances explain a surprising proposal.

    One of unknown readiness is ready, as on the page.
    """
    others = (
        instance("b", phase=Phase.PENDING, ready=False),
        instance("c", ready=False),
        instance("d", deleting=True),
        instance("e", phase=Phase.FAILED, ready=False),
        instance("f", ready=None),
    )
    block = found(state(instance("a"), *others), ValueReading((5000,)))
    text = "size 6, 6 instances: 2 ready, 1 pending, 1 not ready, 1 leaving, 1 failed"
    assert line(block, "target") == (text, False)


def test_samples_that_match_no_instance_are_shown_with_the_identities() -> None:
    """An operator needs both sides to correct the labels."""
    unmatched = tuple(f'instance="10.0.0.{number}"' for number in range(20))
    text, wrong = line(found(state(instance("a")), reading(unmatched=unmatched, more_unmatched=380)), "cpu")
    assert wrong
    assert text == (
        'no sample matches an instance: the samples have instance="10.0.0.0", instance="10.0.0.1", instance="10.0.0.2" '
        "and 397 more, but a is known as a, a:9100; let a label of the samples have such a value, and name that label "
        "by `instanceLabel`"
    )


def test_samples_of_other_targets_are_no_error() -> None:
    """A shared query returns the samples of the whole fleet."""
    block = found(state(instance("a")), reading("a", unmatched=('instance="other"',)))
    assert not block.wrong
    assert line(block, "cpu")[0].endswith('1 ready -> 2; 1 sample matches no instance: instance="other"')


def test_unusable_and_missing_samples_are_named() -> None:
    """They make a proposal more conservative."""
    requests = dict.fromkeys("abcd", 1000)
    block = found(state(*map(instance, "abcd")), reading("a", "d", dropped=("b: is NaN",), requests=requests))
    text, wrong = line(block, "cpu")
    assert not wrong
    assert text.endswith("-> 4; 2 instances have no sample: b, c; 1 instance has an unusable sample: b: is NaN")


def test_a_missing_request_is_an_error() -> None:
    """Utilization is a share of the request."""
    text, wrong = line(found(state(instance("a")), reading("a", requests={})), "cpu")
    assert wrong
    assert "instance a has no cpu request" in text


def test_a_failed_query_is_an_error_also_if_another_metric_decides() -> None:
    """It would prevent every scale-in."""
    block = found(state(instance("a")), ValueReading((3000,)), Failure("the query returned no sample"))
    assert line(block, "cpu") == ("the query returned no sample", True)
    assert line(block, "now") == ("cpu has no value: the query returned no sample; queue 3 of 1 asks for 3", False)
    assert block.wrong


def test_a_failed_query_is_an_error_also_outside_the_bounds() -> None:
    """Outside the bounds the decision ignores the query; back inside, the query would fail."""
    block = found(state(instance("a"), size=9), Failure("the query returned no sample"))
    assert line(block, "now") == ("the size is above maxReplicas, desired 5", False)
    assert block.wrong


def test_the_failed_queries_of_a_target_that_cannot_be_scaled_are_shown() -> None:
    """Both are corrected before the next check. What the others read has nothing to be joined to."""
    failed = Failure("the query returned no sample")
    block = found(TargetNotScalable("it is a global service"), ValueReading((3000,)), failed)
    assert [(each.label, each.text) for each in block.lines] == [
        ("target", "it is a global service"),
        ("cpu", "the query returned no sample"),
    ]
    assert all(each.wrong for each in block.lines)


def test_bounds_that_allow_no_size_are_an_error() -> None:
    """The daemon could never write a size."""
    text, wrong = line(found(state(instance("a"), limits=Limits(6, 9)), ValueReading((1000,))), "now")
    assert wrong
    assert text.startswith("no size is allowed: ")


def test_a_hold_is_shown_and_no_error() -> None:
    """A hold ends by itself."""
    hold = Hold(scale_out=HoldReason("DeploymentActive", "deployment 1 is under way"))
    text, wrong = line(found(state(instance("a"), hold=hold), ValueReading((3000,))), "now")
    assert (text, wrong) == ("queue 3 of 1 asks for 3; deployment 1 is under way", False)


def test_a_proposal_that_is_limited_shows_the_reason() -> None:
    """Without it the metric would look wrong."""
    text, wrong = line(found(state(instance("a"), instance("b")), ValueReading((900,))), "now")
    assert not wrong
    assert text.startswith("queue 0.45 of 1 asks for 1; 2 was recommended ")


def test_size_zero_means_disabled_and_is_no_error() -> None:
    """An operator has disabled scaling."""
    text, wrong = line(found(state(), reading()), "now")
    assert not wrong
    assert "switches scaling off" in text


def test_a_query_that_ranks_no_instance_is_an_error() -> None:
    """Scale-in would silently remove other instances than the operator chose."""
    victims = VictimRule(VictimOrder.LEAST, Query("load"))
    seen = Observation(state(instance("a")), (ValueReading((1000,)),))
    ranked = replace(seen, victims=("a",))
    asked = replace(scaler(_QUEUE), victims=victims)
    assert line(findings_in(seen, asked), "victims")[1]
    assert not findings_in(ranked, asked).wrong


def test_the_warnings_of_a_target_and_what_resets_its_size_are_shown() -> None:
    warned = state(instance("a"), warnings=("another autoscaler is at work",), reset_by="the stack shop sets it")
    block = found(warned, ValueReading((1000,)))
    assert line(block, "warning") == ("another autoscaler is at work", False)
    assert line(block, "deployments") == ("the stack shop sets it", False)


def test_the_query_of_a_fallback_is_checked() -> None:
    """The operator finds a mistake in it before the fallback is needed."""
    one = replace(scaler(_QUEUE, _CPU), rules=Rules([Fallbacks((MetricFallback(query=Query("crude")), None))]))
    readings = (ValueReading((5000,)), reading("a"))
    for target, other, text, wrong in (
        (state(instance("a")), ValueReading((3000,)), "3 of 1, 3 in total, 1 for each -> 3", False),
        (state(instance("a")), Failure("no such series"), "no such series", True),
        (TargetUnavailable("down"), Failure("no such series"), "no such series", True),
    ):
        block = findings_in(Observation(target, readings, (), (other, None)), one)
        assert line(block, "fallback of queue") == (text, wrong)
        assert all(each.label != "fallback of cpu" for each in block.lines)


def test_most_samples_unusable_is_not_ok() -> None:
    """`maxAge` refuses them in every cycle, and one instance would stand for three."""
    stale = reading("a", dropped=("b: is stale", "c: is stale"))
    block = findings_in(Observation(state(*map(instance, "abc")), (stale,)), scaler(_CPU))
    text, wrong = line(block, "cpu")
    assert (wrong, block.wrong) == (True, True)
    assert "; 2 instances have unusable samples: b: is stale, c: is stale" in text
    assert text.endswith("; most instances have no usable sample")
    few = findings_in(
        Observation(state(*map(instance, "abc")), (reading("a", "b", dropped=("c: is stale",)),)), scaler(_CPU)
    )
    assert not few.wrong, "an instance that has just started has no sample yet"


def test_a_target_that_was_never_started_is_no_fault() -> None:
    """Before the first start, a pool has no worker, and no worker has a sample."""
    unsampled = Unsampled("the query returned no sample", Query("cpu"))
    for seen in (reading(), reading(unmatched=("a",)), unsampled):
        block = findings_in(Observation(state(size=2, not_started=True), (seen,)), scaler(_CPU))
        assert line(block, "target") == ("not started yet: the daemon starts it with the size 2", False)
        assert line(block, "now") == ("would wait for the first instances", False)
        assert not block.wrong
    for failed in (unsampled, Failure("connection refused")):
        block = findings_in(Observation(state(size=2, not_started=True), (failed,)), scaler(_QUEUE))
        assert block.wrong, "a queue does not depend on the pool"
