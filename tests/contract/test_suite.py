"""The suite itself: an adapter that breaks a promise fails the promise's test, with a helpful message."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import SkipTest

import pytest

from adapters.memory import Memory
from adapters.memory.groups import Group
from adapters.memory.settings import GroupSettings
from autoscaler.target import (
    Adapter,
    Call,
    Conflict,
    Held,
    Instance,
    Limits,
    Phase,
    ScaleChange,
    ScaleOutcome,
    TargetError,
    TargetNotFound,
    TargetRef,
    TargetState,
    TargetUnavailable,
    Written,
)
from autoscaler.target.contract import AdapterContract, Harness
from tests.adapters.memory.harness import SETTINGS, MemoryHarness
from tests.replaced import replace
from tests.waiting import PATIENCE_SECONDS

Promise = Callable[[AdapterContract, Harness], None]


class Broken(Memory):
    """The base of adapters that break a promise. It can change sizes without a write."""

    def size(self) -> int:
        return len(self.read("web").members)

    def resize(self, size: int) -> None:
        self.groups.write("web", self.read("web").resized("web", size, datetime(2026, 1, 1, tzinfo=UTC)))


class AnswersTooMuch(Broken):
    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        return super().observe([TargetRef("memory", name) for name in SETTINGS.groups], call)


class RaisesForOne(Broken):
    def state(self, target: TargetRef, now: datetime) -> TargetState | TargetError:
        return TargetUnavailable("down") if target.name == "nobody" else super().state(target, now)


class IsSilent(Broken):
    def state(self, target: TargetRef, now: datetime) -> TargetState | TargetError:
        return TargetNotFound() if target.name == "nobody" else super().state(target, now)


class ChangesWhenObserved(Broken):
    def state(self, target: TargetRef, now: datetime) -> TargetState | TargetError:
        state = super().state(target, now)
        if target.name == "web":
            self.resize(self.size())
        return state


class ChangesInstances(Broken):
    """Each instance in an answer is changed by `change`."""

    def change(self, one: Instance) -> Instance:
        raise NotImplementedError

    def instance(self, name: str, since: datetime | None, settings: GroupSettings, now: datetime) -> Instance:
        return self.change(super().instance(name, since, settings, now))


class SharesNames(ChangesInstances):
    def change(self, one: Instance) -> Instance:
        return replace(one, name="member")


class SharesIdentities(ChangesInstances):
    def change(self, one: Instance) -> Instance:
        return replace(one, identities=frozenset({"everybody"}))


class ForgetsAnAddress(ChangesInstances):
    def change(self, one: Instance) -> Instance:
        return replace(one, identities=one.identities | {None})


class WritesInWords(Broken):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        outcome = super().scale(target, change, call)
        return Written(str(change.size)) if isinstance(outcome, Written) else outcome  # type: ignore[arg-type]  # likewise


class LivesInTheFuture(ChangesInstances):
    def change(self, one: Instance) -> Instance:
        return replace(one, started_at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=365_000))


class IsBelowItsMinimum(Broken):
    def state(self, target: TargetRef, now: datetime) -> TargetState | TargetError:
        state = super().state(target, now)
        return state if isinstance(state, TargetError) else replace(state, limits=Limits(4, None, "the group"))


class CountsWhatLeaves(Broken):
    def state(self, target: TargetRef, now: datetime) -> TargetState | TargetError:
        state = super().state(target, now)
        if isinstance(state, TargetError) or self.size() == 3:
            return state
        leaving = Instance("web-9", Phase.RUNNING, ready=True, deleting=True)
        return replace(state, status_replicas=2, instances=(*state.instances, leaving))


class SharesItsDeadline(Broken):
    """Of calls side by side, each uses the deadline of the last one."""

    concurrent_writes = 4
    meeting = threading.Barrier(concurrent_writes, timeout=PATIENCE_SECONDS)

    def check(self, call: Call) -> None:
        self.call = call
        if threading.current_thread() is not threading.main_thread():
            self.meeting.wait()
        super().check(self.call)


class TakesSizesForSteps(Broken):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        return super().scale(target, replace(change, size=self.size() + change.size), call)


class ReplacesAll(Broken):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        self.resize(0)
        return super().scale(target, replace(change, decided_from=0, revision=None), call)


class WritesTheSameAgain(Broken):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        outcome = super().scale(target, change, call)
        self.resize(self.size())
        return outcome if isinstance(outcome, Conflict) else Written(change.size)


class LooksForConflictsFirst(Broken):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        if change.decided_from != self.size():
            return Conflict("the size is another one")
        return super().scale(target, change, call)


class LooksForHoldsFirst(Broken):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        state = self.state(target, call.now)
        held = None if isinstance(state, TargetError) else state.hold.scale_out
        return super().scale(target, change, call) if held is None else Held(held)


class LooksForNoHold(Broken):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        outcome = super().scale(target, change, call)
        return Written(change.size) if isinstance(outcome, Held) else outcome


class Overwrites(Broken):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        return super().scale(target, replace(change, decided_from=self.size(), revision=None), call)


class RemovesTwice(Broken):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        self.resize(self.size() + change.size - change.decided_from)
        return Written(change.size)


class ChoosesItsOwnVictims(Broken):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        return super().scale(target, replace(change, victims=()), call)


class KeepsOne(Broken):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        super().scale(target, replace(change, size=max(1, change.size)), call)
        return Written(change.size)


class ScalesTheFixed(Broken):
    def state(self, target: TargetRef, now: datetime) -> TargetState | TargetError:
        state = super().state(target, now)
        return super().state(replace(target, name="web"), now) if target.name == "fixed" else state


class IgnoresDeadlines(Broken):
    def check(self, call: Call) -> None:
        super().check(replace(call, deadline=float("inf")))


class WritesToTestWrites(Broken):
    def try_write(self, target: TargetRef, call: Call) -> str:
        self.resize(self.size())
        return f"permitted: {target} has been written"


class WritesForOthers(Broken):
    def check(self, call: Call) -> None:
        super().check(replace(call, is_current=lambda: True))


class ChecksAfterItsWrite(Broken):
    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        outcome = super().scale(target, change, replace(call, deadline=float("inf"), is_current=lambda: True))
        self.check(call)
        return outcome


class TakesOutagesForEmptiness(Broken):
    def read(self, name: str) -> Group:
        try:
            return super().read(name)
        except TargetUnavailable:
            return Group(born=0, members={})


@pytest.mark.parametrize(
    ("broken", "promise", "words"),
    [
        (AnswersTooMuch, AdapterContract.test_observe_answers_for_exactly_the_targets_asked_for, "observe(nothing)"),
        (RaisesForOne, AdapterContract.test_a_missing_target_is_not_found_and_disturbs_no_other, "be TargetNotFound"),
        (RaisesForOne, AdapterContract.test_scaling_a_missing_target_is_not_found, "be TargetNotFound"),
        (IsSilent, AdapterContract.test_scaling_a_missing_target_is_not_found, "should carry a message"),
        (ChangesWhenObserved, AdapterContract.test_a_dry_run_observes_the_same_and_changes_nothing, "a dry run's"),
        (ChangesWhenObserved, AdapterContract.test_closing_is_quick_and_leaves_the_target_alone, "after close()"),
        (
            ForgetsAnAddress,
            AdapterContract.test_states_have_the_types_and_bounds_of_the_contract,
            "instances[0].identities is None, expected texts",
        ),
        (
            WritesInWords,
            AdapterContract.test_what_a_write_comes_to_has_the_types_of_the_contract,
            "scale from 1 to 3: Written.size is '3', expected a whole number",
        ),
        (WritesToTestWrites, AdapterContract.test_a_write_test_changes_nothing, "after a write test differs"),
        (
            SharesNames,
            AdapterContract.test_states_have_the_types_and_bounds_of_the_contract,
            "instances has 3 of the name 'member'",
        ),
        (SharesIdentities, AdapterContract.test_instances_can_be_told_apart, "an identity of its own"),
        (LivesInTheFuture, AdapterContract.test_times_of_instances_are_past, "not lie in the future"),
        (IsBelowItsMinimum, AdapterContract.test_a_size_lies_within_the_limits_of_the_target, "outside its own limits"),
        (ReplacesAll, AdapterContract.test_scale_in_is_written_and_comes_to_pass, "should keep instances"),
        (CountsWhatLeaves, AdapterContract.test_what_leaves_is_not_counted_as_existing, "status_replicas should be 1"),
        (SharesItsDeadline, AdapterContract.test_writes_side_by_side_do_not_mix, "should be"),
        (
            TakesSizesForSteps,
            AdapterContract.test_scale_out_comes_to_pass_and_keeps_the_instances_that_run,
            "Written(size=3)",
        ),
        (
            ReplacesAll,
            AdapterContract.test_scale_out_comes_to_pass_and_keeps_the_instances_that_run,
            "should keep what runs",
        ),
        (WritesTheSameAgain, AdapterContract.test_the_same_size_is_unchanged, "should be Unchanged"),
        (
            LooksForConflictsFirst,
            AdapterContract.test_the_same_size_is_unchanged,
            "decided from 3, should be Unchanged, is Conflict",
        ),
        (
            LooksForHoldsFirst,
            AdapterContract.test_a_hold_comes_after_an_unchanged_size_and_after_a_conflict,
            "scale of a held target from 4 to 3 at size 1 should be Conflict, is Held",
        ),
        (
            LooksForConflictsFirst,
            AdapterContract.test_a_hold_comes_after_an_unchanged_size_and_after_a_conflict,
            "scale of a held target from 4 to 1 at size 1 should be Unchanged, is Conflict",
        ),
        (
            LooksForNoHold,
            AdapterContract.test_a_hold_comes_after_an_unchanged_size_and_after_a_conflict,
            "scale of a held target from 1 to 3 at size 1 should be Held, is Written",
        ),
        (Overwrites, AdapterContract.test_an_outside_change_since_the_observation_wins, "should be a Conflict"),
        (Overwrites, AdapterContract.test_a_size_decided_from_another_one_is_a_conflict, "should be a Conflict"),
        (RemovesTwice, AdapterContract.test_one_decision_repeated_never_removes_twice, "at rest at size 2"),
        (ChoosesItsOwnVictims, AdapterContract.test_named_victims_leave_first, "was named as victim"),
        (KeepsOne, AdapterContract.test_scaling_to_zero_and_back, "to ask for the 0 just written"),
        (ScalesTheFixed, AdapterContract.test_what_cannot_be_scaled_says_so, "be TargetNotScalable"),
        (IgnoresDeadlines, AdapterContract.test_a_passed_deadline_is_unavailable_at_once, "after its deadline"),
        (
            WritesForOthers,
            AdapterContract.test_a_write_whose_target_was_taken_over_sends_nothing_more,
            "scale of a target that was taken over",
        ),
        (
            ChecksAfterItsWrite,
            AdapterContract.test_a_passed_deadline_is_unavailable_at_once,
            "the observation after calls that were too late differs",
        ),
        (
            ChecksAfterItsWrite,
            AdapterContract.test_a_write_whose_target_was_taken_over_sends_nothing_more,
            "the observation after a write of a target that was taken over differs",
        ),
        (
            TakesOutagesForEmptiness,
            AdapterContract.test_a_back_end_that_does_not_answer_is_unavailable,
            "observe during an outage",
        ),
    ],
)
def test_a_broken_promise_fails_its_test(broken: type[Memory], promise: Promise, words: str, tmp_path: Path) -> None:
    """A suite that every adapter passes proves nothing."""
    with pytest.raises(AssertionError) as failure:
        promise(AdapterContract(), MemoryHarness(tmp_path, broken))
    assert words in str(failure.value)


def test_every_promise_has_an_adapter_that_breaks_it() -> None:
    """A new promise needs an adapter that breaks it."""
    (parameters,) = (mark.args[1] for mark in test_a_broken_promise_fails_its_test.pytestmark)  # type: ignore[attr-defined]  # pytest puts it there
    broken = {promise.__name__ for _, promise, _ in parameters}
    assert broken == {name for name in vars(AdapterContract) if name.startswith("test_")}


class CannotBeUnreachable(MemoryHarness):
    scales_to_zero = False
    chooses_victims = False
    unscalable = None

    def hold(self) -> AbstractContextManager[object] | str:
        return Harness.hold(self)

    def unreachable(self) -> Adapter | str:
        return "memory is always there"


@pytest.mark.parametrize(
    ("promise", "reason"),
    [
        (AdapterContract.test_a_back_end_that_does_not_answer_is_unavailable, "memory is always there"),
        (AdapterContract.test_writes_side_by_side_do_not_mix, "takes one write at a time"),
        (AdapterContract.test_scaling_to_zero_and_back, "cannot have the size 0"),
        (
            AdapterContract.test_a_hold_comes_after_an_unchanged_size_and_after_a_conflict,
            "no operation that holds the target",
        ),
        (AdapterContract.test_named_victims_leave_first, "leaves the choice of victims"),
        (AdapterContract.test_what_cannot_be_scaled_says_so, "cannot be scaled"),
    ],
)
def test_an_impossible_state_of_a_back_end_is_skipped_with_the_reason(
    promise: Promise, reason: str, tmp_path: Path
) -> None:
    """Not every back end has every state. Each skip has a reason."""
    with pytest.raises(SkipTest, match=reason):
        promise(AdapterContract(), CannotBeUnreachable(tmp_path))
