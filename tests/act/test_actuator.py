"""Every change has an outcome, whatever the adapter does."""

from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import Any

import pytest

from autoscaler.act.actuator import Actuator
from autoscaler.decide import apply_outcome
from autoscaler.errors import StaleLedger, TargetDeferred, TargetError, TargetForbidden, TargetUnavailable
from autoscaler.model import (
    Call,
    Conflict,
    Decision,
    Held,
    HoldReason,
    Proposed,
    ScaleChange,
    ScaleOutcome,
    TargetRef,
    TargetState,
    Unchanged,
    Written,
)
from autoscaler.target import Adapter
from autoscaler.target.contract.harness import RecordingLogger
from tests.clocks import FakeClock
from tests.decisions import NOW, decision, rescale

CALL = Call(NOW, deadline=10.0)


class BackEnd(Adapter):
    """A back end that answers writes as the test says."""

    def __init__(self, answer: Callable[[ScaleChange], ScaleOutcome]) -> None:
        self.answer = answer
        self.written: list[tuple[TargetRef, ScaleChange]] = []

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        raise AssertionError("acting observes nothing")

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        self.written.append((target, change))
        return self.answer(change)


class AnnouncingBackEnd(BackEnd):
    """A back end that records decisions without a write."""

    def __init__(self, answer: Callable[[ScaleChange], ScaleOutcome]) -> None:
        super().__init__(answer)
        self.announced: list[Decision] = []

    def announce(self, target: TargetRef, decision: Decision, call: Call) -> None:
        self.announced.append(decision)


def accept(change: ScaleChange) -> ScaleOutcome:
    return Written(change.size)


def raising(error: BaseException) -> Callable[[ScaleChange], ScaleOutcome]:
    def answer(change: ScaleChange) -> ScaleOutcome:
        raise error

    return answer


def act(back: BackEnd, *decisions: Decision, clock: FakeClock | None = None, log: RecordingLogger | None = None) -> Any:
    """Run the changes, announce the concluded decisions as the cycle does, and return the outcomes."""
    actuator = Actuator(back, clock or FakeClock(), log or RecordingLogger())
    outcomes = actuator.act(decisions, CALL)
    actuator.announce([apply_outcome(decision, outcomes.get(decision.name)) for decision in decisions], CALL)
    return outcomes


@pytest.mark.parametrize(
    "answer", [Written(5), Unchanged(), Held(HoldReason("Deploying", "a deployment runs")), Conflict("now 7")]
)
def test_the_adapters_answer_is_the_outcome(answer: ScaleOutcome) -> None:
    """Doing nothing is an outcome, not an error. `decide.apply_outcome` distinguishes them."""
    assert act(BackEnd(lambda _: answer), rescale()) == {"web": answer}


def test_a_decision_without_a_change_writes_nothing() -> None:
    """Only intended and committed changes are written."""
    back = BackEnd(accept)
    assert act(back, decision()) == {}
    assert back.written == []


def test_a_dry_run_proposes_and_writes_nothing() -> None:
    """A dry run runs the same code up to the last step."""
    back = BackEnd(accept)
    assert act(back, rescale(dry_run=True), rescale("live")) == {"web": Proposed(5), "live": Written(5)}
    assert [target.name for target, _ in back.written] == ["live-asg"]


def test_a_target_error_is_an_outcome() -> None:
    """One target's error does not prevent the other writes."""
    error = TargetForbidden("fleet: access denied; grant autoscaling:SetDesiredCapacity")
    back = BackEnd(lambda change: raising(error)(change) if change.size == 5 else Written(change.size))
    assert act(back, rescale(), rescale("other", 6)) == {"web": error, "other": Written(6)}


def test_an_adapters_bug_is_reported_by_class_and_place_without_secrets() -> None:
    """An adapter's message may hold a credential. Class and line suffice to report the bug."""
    outcome = act(BackEnd(raising(KeyError("token=hunter2"))), rescale())["web"]
    assert isinstance(outcome, TargetUnavailable)
    assert "KeyError at " in str(outcome)
    assert "test_actuator.py" in str(outcome)
    assert "hunter2" not in str(outcome)


WRONG: dict[str, tuple[Any, str]] = {
    "nothing": (None, "the answer is None, expected Written, Unchanged, Held or Conflict"),
    "a size in words": (Written("5"), "Written.size is '5', expected a whole number from 0 to 2147483647"),  # type: ignore[arg-type]  # wrong
    "a size beyond int32": (Written(2**31), "Written.size is 2147483648"),
    "no reason": (Held(None), "Held.hold is None, expected a HoldReason"),  # type: ignore[arg-type]  # likewise
    "no message": (Conflict(None), "Conflict.message is None, expected a text"),  # type: ignore[arg-type]  # likewise
}


@pytest.mark.parametrize(("answer", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_answer_to_a_write_is_reported(answer: Any, said: str) -> None:
    """An adapter that returns nothing must not look like one that wrote, nor affect other targets."""
    back = BackEnd(lambda change: answer if change.size == 5 else Written(change.size))
    outcomes = act(back, rescale(), rescale("other", 6))
    assert isinstance(outcomes["web"], TargetUnavailable)
    assert f"the adapter broke its contract when it wrote size 5: {said}" in str(outcomes["web"])
    assert outcomes["other"] == Written(6)


def test_a_conflicts_message_has_no_control_characters() -> None:
    """A terminal shows the message."""
    found = act(BackEnd(lambda _: Conflict("\x1b[31mchanged\n")), rescale())["web"]
    assert found == Conflict("\\x1b[31mchanged ")


def test_past_the_deadline_nothing_is_written() -> None:
    """A slow back end must not delay the batch into the next cycle, which has newer data."""
    clock = FakeClock()

    def slow(change: ScaleChange) -> ScaleOutcome:
        clock.advance(11)
        return Written(change.size)

    back = BackEnd(slow)
    outcomes = act(back, rescale("first"), rescale("second"), clock=clock)
    assert outcomes["first"] == Written(5)
    assert isinstance(outcomes["second"], TargetDeferred)
    assert "deadline" in str(outcomes["second"])
    assert len(back.written) == 1


def test_failures_and_dry_runs_are_announced() -> None:
    """Nomad records them beside the job. It records writes itself."""
    back = AnnouncingBackEnd(
        lambda change: raising(TargetUnavailable("no answer"))(change) if change.size == 6 else accept(change)
    )
    act(back, rescale("dry", dry_run=True), rescale("failing", 6), rescale("fine"))
    assert [made.name for made in back.announced] == ["dry", "failing"]
    assert back.announced[0].outcome == Proposed(5)
    assert back.announced[1].error is not None


@pytest.mark.parametrize("error", [TargetUnavailable("no answer"), RuntimeError("hunter2")])
def test_an_announcement_that_fails_is_a_warning(error: Exception) -> None:
    """Nothing depends on it, so the outcomes stay the same."""

    class Mute(AnnouncingBackEnd):
        def announce(self, target: TargetRef, decision: Decision, call: Call) -> None:
            raise error

    log = RecordingLogger()
    assert act(Mute(accept), rescale(dry_run=True), log=log) == {"web": Proposed(5)}
    ((level, event, keys),) = log.lines
    assert (level, event, keys["autoscaler"]) == ("warning", "announcement_failed", "web")
    assert "hunter2" not in keys["error"]


def test_an_announcement_that_hangs_is_a_warning_at_the_deadline() -> None:
    """The cycle ends in time, and the operator reads why the back end has no record."""
    answered, clock, log = Event(), FakeClock(), RecordingLogger()
    clock.advance(9.99)

    class Hanging(AnnouncingBackEnd):
        def announce(self, target: TargetRef, decision: Decision, call: Call) -> None:
            answered.wait()

    act(Hanging(accept), rescale(dry_run=True), clock=clock, log=log)
    answered.set()
    warned = ("warning", "announcement_failed", {"error": "it has no answer by the cycle's deadline"})
    assert log.lines == [warned]


def test_past_the_deadline_nothing_is_announced() -> None:
    """The deadline applies to the whole call."""
    clock = FakeClock()
    clock.advance(11)
    back = AnnouncingBackEnd(accept)
    act(back, rescale(), clock=clock)
    assert back.announced == []


def test_a_superseded_shard_writes_and_announces_nothing() -> None:
    """Its successor writes to the same targets, and an older decision must not arrive later."""
    back = AnnouncingBackEnd(accept)
    actuator = Actuator(back, FakeClock(), RecordingLogger(), lambda: not back.written)
    decisions = [rescale("first"), rescale("second"), rescale("third")]
    with pytest.raises(StaleLedger, match="size 5 was not written"):
        actuator.act(decisions, CALL)
    assert [target.name for target, _ in back.written] == ["first-asg"]
    actuator.announce([apply_outcome(rescale("second"), TargetUnavailable("no answer"))], CALL)
    assert back.announced == []
