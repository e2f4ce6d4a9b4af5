"""The suite itself: an adapter that breaks a promise fails the test that makes it, with words that help."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from autoscaler.errors import TargetError, TargetNotFound, TargetUnavailable
from autoscaler.model import Call, Conflict, Instance, ScaleChange, ScaleOutcome, TargetRef, TargetState, Written
from autoscaler.target import Adapter
from autoscaler.target.contract import AdapterContract, Harness
from tests.contract.memory import START, MemoryAdapter, MemoryHarness

Promise = Callable[[AdapterContract, Harness], None]


class AnswersTooMuch(MemoryAdapter):
    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        return {TargetRef("memory", name): self.state(TargetRef("memory", name)) for name in self.memory.groups}


class RaisesForOne(MemoryAdapter):
    def state(self, target: TargetRef) -> TargetState | TargetError:
        return TargetUnavailable("down") if target.name == "nobody" else super().state(target)


class IsSilent(MemoryAdapter):
    def state(self, target: TargetRef) -> TargetState | TargetError:
        return TargetNotFound() if target.name == "nobody" else super().state(target)


class ChangesWhenObserved(MemoryAdapter):
    def state(self, target: TargetRef) -> TargetState | TargetError:
        state = super().state(target)
        if target.name == "web":
            self.memory.groups["web"].revision += 1
        return state


class SharesNames(MemoryAdapter):
    def instance(self, name: str) -> Instance:
        return replace(super().instance(name), name="member")


class SharesIdentities(MemoryAdapter):
    def instance(self, name: str) -> Instance:
        return replace(super().instance(name), identities=frozenset({"everybody"}))


class IsNaive(MemoryAdapter):
    def instance(self, name: str) -> Instance:
        return replace(super().instance(name), started_at=datetime(2026, 1, 1))  # noqa: DTZ001 - the promise broken


class LivesInTheFuture(MemoryAdapter):
    def instance(self, name: str) -> Instance:
        return replace(super().instance(name), started_at=START + timedelta(days=365_000))


class WeighsNothing(MemoryAdapter):
    def state(self, target: TargetRef) -> TargetState | TargetError:
        state = super().state(target)
        if isinstance(state, TargetError):
            return state
        return replace(state, instances=tuple(replace(one, weight=0) for one in state.instances))


class MiscountsWhatExists(MemoryAdapter):
    def state(self, target: TargetRef) -> TargetState | TargetError:
        state = super().state(target)
        return state if isinstance(state, TargetError) else replace(state, status_replicas=state.replicas + 1)


class TakesSizesForSteps(MemoryAdapter):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        size = len(self.memory.groups[target.name].members)
        return super().scale(target, replace(change, size=size + change.size), call)


class ReplacesAll(MemoryAdapter):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        self.memory.groups[target.name].members.clear()
        return super().scale(target, replace(change, decided_from=0), call)


class WritesTheSameAgain(MemoryAdapter):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        outcome = super().scale(target, change, call)
        self.memory.groups[target.name].revision += 1
        return outcome if isinstance(outcome, Conflict) else Written(change.size)


class Overwrites(MemoryAdapter):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        size = len(self.memory.groups[target.name].members)
        return super().scale(target, replace(change, decided_from=size, revision=None), call)


class RemovesTwice(MemoryAdapter):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        members = self.memory.groups[target.name].members
        self.memory.groups[target.name].resize(len(members) + change.size - change.decided_from)
        return Written(change.size)


class ChoosesItsOwnVictims(MemoryAdapter):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        return super().scale(target, replace(change, victims=()), call)


class KeepsOne(MemoryAdapter):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        super().scale(target, replace(change, size=max(1, change.size)), call)
        return Written(change.size)


class ScalesTheFixed(MemoryAdapter):
    def state(self, target: TargetRef) -> TargetState | TargetError:
        self.memory.groups["fixed"].scalable = True
        return super().state(target)


class IgnoresDeadlines(MemoryAdapter):
    def check(self, call: Call) -> None:
        super().check(replace(call, deadline=float("inf")))


class TakesOutagesForEmptiness(MemoryAdapter):
    def check(self, call: Call) -> None:
        if self.clock.monotonic() >= call.deadline:
            super().check(call)


@pytest.mark.parametrize(
    ("broken", "promise", "words"),
    [
        (AnswersTooMuch, AdapterContract.test_observe_answers_for_exactly_the_targets_asked_for, "observe(nothing)"),
        (RaisesForOne, AdapterContract.test_a_missing_target_is_not_found_and_disturbs_no_other, "be TargetNotFound"),
        (RaisesForOne, AdapterContract.test_scaling_a_missing_target_is_not_found, "be TargetNotFound"),
        (IsSilent, AdapterContract.test_scaling_a_missing_target_is_not_found, "should carry a message"),
        (ChangesWhenObserved, AdapterContract.test_observing_twice_changes_nothing, "a second observation differs"),
        (ChangesWhenObserved, AdapterContract.test_a_dry_run_observes_the_same_and_changes_nothing, "a dry run's"),
        (ChangesWhenObserved, AdapterContract.test_a_rebuilt_adapter_sees_the_same, "after a restart differs"),
        (ChangesWhenObserved, AdapterContract.test_closing_is_quick_and_leaves_the_target_alone, "after close()"),
        (SharesNames, AdapterContract.test_instances_can_be_told_apart, "names should be unique"),
        (SharesIdentities, AdapterContract.test_instances_can_be_told_apart, "an identity of its own"),
        (IsNaive, AdapterContract.test_instances_are_well_formed, "should be aware and UTC"),
        (LivesInTheFuture, AdapterContract.test_instances_are_well_formed, "not lie in the future"),
        (WeighsNothing, AdapterContract.test_the_sizes_count_units, "to be at rest at size 3"),
        (MiscountsWhatExists, AdapterContract.test_the_sizes_count_units, "last seen: TargetState"),
        (TakesSizesForSteps, AdapterContract.test_scale_out_is_written_and_comes_to_pass, "Written(size=3)"),
        (ReplacesAll, AdapterContract.test_scale_in_is_written_and_comes_to_pass, "should keep instances"),
        (ReplacesAll, AdapterContract.test_scale_out_keeps_the_instances_that_run, "should keep what runs"),
        (WritesTheSameAgain, AdapterContract.test_the_same_size_is_unchanged, "should be Unchanged"),
        (Overwrites, AdapterContract.test_an_outside_change_since_the_observation_wins, "should be a Conflict"),
        (Overwrites, AdapterContract.test_a_size_decided_from_another_one_is_a_conflict, "should be a Conflict"),
        (RemovesTwice, AdapterContract.test_one_decision_repeated_never_removes_twice, "at rest at size 2"),
        (ChoosesItsOwnVictims, AdapterContract.test_named_victims_leave_first, "was named as victim"),
        (KeepsOne, AdapterContract.test_scaling_to_zero_and_back, "to ask for the 0 just written"),
        (ScalesTheFixed, AdapterContract.test_what_cannot_be_scaled_says_so, "be TargetNotScalable"),
        (IgnoresDeadlines, AdapterContract.test_a_passed_deadline_is_unavailable_at_once, "after its deadline"),
        (
            TakesOutagesForEmptiness,
            AdapterContract.test_a_back_end_that_does_not_answer_is_unavailable,
            "observe during an outage",
        ),
    ],
)
def test_a_broken_promise_fails_its_test(broken: type[MemoryAdapter], promise: Promise, words: str) -> None:
    """A suite that passes everybody promises nothing."""
    with pytest.raises(pytest.fail.Exception) as failure:
        promise(AdapterContract(), MemoryHarness(broken))
    assert words in str(failure.value)


def test_every_promise_has_an_adapter_that_breaks_it() -> None:
    """A new promise comes with its breaker."""
    (parameters,) = (mark.args[1] for mark in test_a_broken_promise_fails_its_test.pytestmark)  # type: ignore[attr-defined]  # pytest puts it there
    broken = {promise.__name__ for _, promise, _ in parameters}
    assert broken == {name for name in vars(AdapterContract) if name.startswith("test_")}


class CannotBeUnreachable(MemoryHarness):
    scales_to_zero = False
    chooses_victims = False
    unscalable = None

    def unreachable(self) -> Adapter | str:
        return "memory is always there"


@pytest.mark.parametrize(
    ("promise", "reason"),
    [
        (AdapterContract.test_a_back_end_that_does_not_answer_is_unavailable, "memory is always there"),
        (AdapterContract.test_scaling_to_zero_and_back, "cannot have the size 0"),
        (AdapterContract.test_named_victims_leave_first, "leaves the choice of victims"),
        (AdapterContract.test_what_cannot_be_scaled_says_so, "cannot be scaled"),
    ],
)
def test_what_a_back_end_cannot_do_is_skipped_with_the_reason(promise: Promise, reason: str) -> None:
    """Not every back end has every state; none is passed over in silence."""
    with pytest.raises(pytest.skip.Exception, match=reason):
        promise(AdapterContract(), CannotBeUnreachable())
