"""The promises of the adapter contract, one for each test.

No test depends on a back end's speed: it waits up to the harness's patience.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from unittest import SkipTest

from autoscaler.errors import TargetError, TargetNotFound, TargetNotScalable, TargetNotWritten, TargetUnavailable
from autoscaler.model import Call, Conflict, Held, Phase, ScaleChange, TargetRef, TargetState, Unchanged, Written
from autoscaler.target.answers import StateCheck, WrongAnswer, checked_outcome
from autoscaler.target.contract.harness import Harness, at_rest
from autoscaler.target.contract.promises import promise, promise_error, promise_prompt, promise_same
from autoscaler.target.protocol import Adapter

_NOT_DONE = (TargetUnavailable, TargetNotWritten)
_PROMPT_SECONDS = 2.0
"""The longest duration of "promptly" on a busy machine."""
_SIDE_BY_SIDE = 4
"""Concurrent calls at most; enough to find state that they share."""
_MAX_ASKED = 64
"""Calls of `Call.seconds_left` in one write."""


class AdapterContract:
    """Subclass as `Test…` with the fixture `harness`. Every test is a promise of `autoscaler.target.protocol`."""

    def test_observe_answers_for_exactly_the_targets_asked_for(self, harness: Harness) -> None:
        """The daemon looks up every target of the batch, and pays for no other."""
        for asked in ([], [harness.target], [harness.missing, harness.target]):
            answer = harness.adapter.observe(asked, harness.call())
            promise(set(answer) == set(asked), f"observe({_names(asked)}) answers for {_names(list(answer))}")

    def test_a_missing_target_is_not_found_and_disturbs_no_other(self, harness: Harness) -> None:
        """An operator who deletes one group must not stop the scaling of the others on its connection."""
        answer = harness.adapter.observe([harness.missing, harness.target], harness.call())
        promise_error(answer[harness.missing], TargetNotFound, f"observe of {harness.missing}, which does not exist,")
        seen = answer[harness.target]
        promise(isinstance(seen, TargetState), f"{harness.target}, asked with a missing one, is an error: {seen!r}")

    def test_scaling_a_missing_target_is_not_found(self, harness: Harness) -> None:
        """The target may be deleted between observe and scale; the condition must say so."""
        change = ScaleChange("contract-missing", harness.large, harness.small, None, "the contract suite says so")
        error = _scale_error(harness.adapter, harness.missing, change, harness.call())
        promise_error(error, TargetNotFound, f"scale of {harness.missing}, which does not exist,")

    def test_a_dry_run_observes_the_same_and_changes_nothing(self, harness: Harness) -> None:
        """A dry run sees what a live daemon sees and changes nothing. `observe` only reads."""
        live = harness.start_at(harness.small)
        harness.rebuild(dry_run=True)
        promise_same(live, harness.observe(), "a dry run's observation")
        harness.rebuild()
        promise_same(live, harness.observe(), "the observation after a dry run")

    def test_states_have_the_types_and_bounds_of_the_contract(self, harness: Harness) -> None:
        """The daemon refuses other values: a wrong one could otherwise fail a stage after a write."""
        for size in (harness.large, harness.small):
            state = harness.start_at(size)
            try:
                StateCheck()(harness.target, state)
            except WrongAnswer as error:
                raise AssertionError(f"observe({harness.target}) at size {size}: {error}") from None

    def test_what_a_write_comes_to_has_the_types_of_the_contract(self, harness: Harness) -> None:
        """The daemon treats another outcome as a write with an unknown result."""
        state = harness.start_at(harness.small)
        same, stale = harness.change(state, harness.small), replace(state, revision=None, replicas=harness.large + 1)
        for change in (same, harness.change(stale, harness.large), harness.change(state, harness.large)):
            try:
                checked_outcome(harness.adapter.scale(harness.target, change, harness.call()))
            except WrongAnswer as error:
                raise AssertionError(f"scale from {change.decided_from} to {change.size}: {error}") from None

    def test_instances_can_be_told_apart(self, harness: Harness) -> None:
        """A sample joins one instance by a stable name and an identity that no other instance has."""
        instances = harness.start_at(harness.large).instances
        identities = Counter(identity for one in instances for identity in one.identities)
        for one in instances:
            own = [identity for identity in one.identities if identities[identity] == 1]
            promise(bool(own), f"{one.name} should have an identity of its own, has {sorted(one.identities)}")
            promise("" not in one.identities, f"{one.name} has an empty identity")

    def test_times_of_instances_are_past(self, harness: Harness) -> None:
        """Readiness rules compare them with `now`."""
        now = harness.clock.now()
        for one in harness.start_at(harness.small).instances:
            for name in ("started_at", "ready_transition"):
                at = getattr(one, name)
                late = at is not None and at > now + timedelta(minutes=5)
                promise(not late, f"{one.name}.{name} should not lie in the future, is {at!r} at {now!r}")

    def test_a_size_lies_within_the_limits_of_the_target(self, harness: Harness) -> None:
        """Decisions are cut to these limits, so a target outside them would be resized without a load."""
        for size in (harness.large, harness.small):
            limits = harness.start_at(size).limits
            within = limits.minimum <= size and (limits.maximum is None or size <= limits.maximum)
            promise(within, f"{size} is the target's size, and outside its own limits {limits}")

    def test_scale_in_is_written_and_comes_to_pass(self, harness: Harness) -> None:
        """A scale-in replaces no instance."""
        before, after = self._scale_and_settle(harness, harness.large, harness.small)
        fresh = _live(after) - _live(before)
        promise(not fresh, f"a scale-in should keep instances that were there, but {sorted(fresh)} are new")

    def test_what_leaves_is_not_counted_as_existing(self, harness: Harness) -> None:
        """An average divides load by existing instances. If leaving instances counted, a constant load would never
        settle.
        """
        state = harness.start_at(harness.large)
        harness.adapter.scale(harness.target, harness.change(state, harness.small), harness.call())

        def is_counted(now: TargetState) -> bool:
            staying = [one.weight for one in now.instances if not one.deleting and one.phase is not Phase.FAILED]
            promise(
                now.status_replicas == sum(staying),
                f"status_replicas should be {sum(staying)}, without what leaves or has failed; seen: {now}",
            )
            return at_rest(now, harness.small)

        harness.wait_for(is_counted, f"to be at rest at size {harness.small}")

    def test_scale_out_comes_to_pass_and_keeps_the_instances_that_run(self, harness: Harness) -> None:
        """The size is absolute, and scaling must not restart the instances that carry the load."""
        before, after = self._scale_and_settle(harness, harness.small, harness.large)
        gone = _live(before) - _live(after)
        promise(not gone, f"a scale-out should keep what runs, but {sorted(gone)} are gone")

    def test_the_same_size_is_unchanged(self, harness: Harness) -> None:
        """Unchanged is an outcome without an event, a cooldown or a new revision. It goes before a Conflict."""
        state = harness.start_at(harness.small)
        for seen in (state, replace(state, replicas=harness.large)):
            outcome = harness.adapter.scale(harness.target, harness.change(seen, harness.small), harness.call())
            what = f"scale to the size that it has, decided from {seen.replicas},"
            promise(isinstance(outcome, Unchanged), f"{what} should be Unchanged, is {outcome}")
        promise_same(state, harness.observe(), "the observation after an unchanged size")

    def test_a_hold_comes_after_an_unchanged_size_and_after_a_conflict(self, harness: Harness) -> None:
        """A void decision has no direction that a hold could stop. `check_before_write` has the order."""
        start = harness.start_at(harness.small)
        holding = harness.hold()
        if isinstance(holding, str):
            raise SkipTest(holding)
        with holding:
            state = harness.wait_for(
                lambda state: None not in (state.hold.scale_out, state.hold.scale_in), "to be held"
            )
            stale = replace(state, replicas=harness.large + 1)
            for seen, size, expected in (
                (state, harness.large, Held),
                (stale, harness.large, Conflict),
                (stale, harness.small, Unchanged),
            ):
                outcome = harness.adapter.scale(harness.target, harness.change(seen, size), harness.call())
                what = f"scale of a held target from {seen.replicas} to {size} at size {harness.small}"
                promise(isinstance(outcome, expected), f"{what} should be {expected.__name__}, is {outcome}")
        now = harness.settle(harness.small)
        promise(_live(now) == _live(start), "a hold should keep the instances that run")

    def test_an_outside_change_since_the_observation_wins(self, harness: Harness) -> None:
        """Another client changed the size: the next cycle decides from its size, and no write overwrites it."""
        stale = harness.start_at(harness.small)
        harness.set_size_outside(harness.large)
        harness.settle(harness.large)
        middle = (harness.small + harness.large) // 2
        outcome = harness.adapter.scale(harness.target, harness.change(stale, middle), harness.call())
        promise(isinstance(outcome, Conflict), f"scale by a stale observation should be a Conflict, is {outcome}")
        promise(bool(getattr(outcome, "message", "")), "a Conflict should say what was found")
        now = harness.settle(harness.large)
        promise(
            now.replicas == harness.large, f"after a Conflict the size should be {harness.large}, is {now.replicas}"
        )

    def test_a_size_decided_from_another_one_is_a_conflict(self, harness: Harness) -> None:
        """Without a revision, the size that the decision saw guards the write."""
        state = harness.start_at(harness.small)
        change = ScaleChange(
            "contract-no-revision", harness.large, harness.large + 1, None, "the contract suite says so"
        )
        outcome = harness.adapter.scale(harness.target, change, harness.call())
        promise(isinstance(outcome, Conflict), f"scale decided from another size should be a Conflict, is {outcome}")
        promise_same(state, harness.observe(), "the observation after a Conflict")

    def test_one_decision_repeated_never_removes_twice(self, harness: Harness) -> None:
        """A write whose answer was lost is retried, also after a restart."""
        state = harness.start_at(harness.large)
        middle = (harness.small + harness.large) // 2
        change = harness.change(state, middle)
        outcome = harness.adapter.scale(harness.target, change, harness.call())
        promise(outcome == Written(middle), f"scale to {middle} should be Written, is {outcome}")
        harness.adapter.scale(harness.target, change, harness.call())
        before = harness.settle(middle)
        for when in ("again", "again after a restart"):
            harness.adapter.scale(harness.target, change, harness.call())
            promise_same(before, harness.settle(middle), f"the observation after the same change {when}")
            harness.rebuild()

    def test_named_victims_leave_first(self, harness: Harness) -> None:
        """The daemon ranks victims by load: the least loaded leaves, not the newest."""
        if not harness.chooses_victims:
            raise SkipTest("this adapter leaves the choice of victims to the back end")
        state = harness.start_at(harness.large)
        victim = min(_live(state))
        middle = (harness.small + harness.large) // 2
        change = harness.change(state, middle, victims=(victim,))
        outcome = harness.adapter.scale(harness.target, change, harness.call())
        promise(outcome == Written(middle), f"scale to {middle} should be Written, is {outcome}")
        stayed = _live(harness.settle(middle))
        promise(victim not in stayed, f"{victim} was named as victim and is still there, beside {sorted(stayed)}")

    def test_scaling_to_zero_and_back(self, harness: Harness) -> None:
        """HPAScaleToZero: an idle queue costs nothing, and work starts workers again."""
        if not harness.scales_to_zero:
            raise SkipTest("this back end cannot have the size 0")
        self._scale_and_settle(harness, harness.small, 0)
        self._scale_and_settle(harness, 0, harness.small)

    def test_what_cannot_be_scaled_says_so(self, harness: Harness) -> None:
        """For a daemon service or a system job, only its own autoscaler fails, with the reason."""
        if harness.unscalable is None:
            raise SkipTest("this back end knows nothing that exists and cannot be scaled")
        answer = harness.adapter.observe([harness.unscalable, harness.target], harness.call())
        promise_error(answer[harness.unscalable], TargetNotScalable, f"observe of {harness.unscalable}")
        promise(isinstance(answer[harness.target], TargetState), f"{harness.target} should not be disturbed by it")
        change = ScaleChange("contract-unscalable", harness.large, harness.small, None, "the contract suite says so")
        error = _scale_error(harness.adapter, harness.unscalable, change, harness.call())
        promise_error(error, TargetNotScalable, f"scale of {harness.unscalable}")

    def test_a_write_test_changes_nothing(self, harness: Harness) -> None:
        """An operator tests permissions at any time, also beside a daemon that scales the target."""
        if not harness.adapter.implements("try_write"):
            raise SkipTest("this adapter has no write test")
        before = harness.start_at(harness.small)
        harness.rebuild(dry_run=True)
        answer = _try_write(harness.adapter, harness.target, harness.call())
        late = _try_write(harness.adapter, harness.target, harness.call(-1))
        missing = _try_write(harness.adapter, harness.missing, harness.call())
        harness.rebuild()
        promise_same(before, harness.observe(), "the observation after a write test")
        promise(isinstance(answer, str) and bool(answer), f"try_write should answer in words, is {answer!r}")
        promise_error(late, _NOT_DONE, "try_write after its deadline")
        promise_error(missing, TargetNotFound, f"try_write of {harness.missing}, which does not exist,")

    def test_a_passed_deadline_is_unavailable_at_once(self, harness: Harness) -> None:
        """A late write would act on an outdated state."""
        state = harness.start_at(harness.small)
        change = harness.change(state, harness.large)
        began = time.monotonic()
        answer = _observe(harness.adapter, [harness.target], harness.call(-1))
        error = _scale_error(harness.adapter, harness.target, change, harness.call(-1))
        promise_prompt(began, _PROMPT_SECONDS, "calls whose deadline has passed")
        promise_error(answer[harness.target], _NOT_DONE, "observe after its deadline")
        promise_error(error, _NOT_DONE, "scale after its deadline")
        promise_same(state, harness.observe(), "the observation after calls that were too late")

    def test_a_write_whose_target_was_taken_over_sends_nothing_more(self, harness: Harness) -> None:
        """Another shard or daemon may write by then: each request of a write is preceded by `Call.seconds_left`."""
        state = harness.start_at(harness.small)
        for asked in range(_MAX_ASKED):
            call = replace(harness.call(), is_current=partial(next, iter([True] * asked), False))
            outcome = _scale_error(harness.adapter, harness.target, harness.change(state, harness.large), call)
            if asked and outcome == Written(harness.large):
                harness.settle(harness.large)
                return
            promise_error(outcome, _NOT_DONE, "scale of a target that was taken over")
            promise_same(state, harness.observe(), "the observation after a write of a target that was taken over")
        raise AssertionError(f"scale asks more than {_MAX_ASKED} times whether the target is still its own")

    def test_writes_side_by_side_do_not_mix(self, harness: Harness) -> None:
        """With `concurrent_writes`, each call has its own target, deadline and answer, as `observe` has."""
        if harness.adapter.concurrent_writes == 1:
            raise SkipTest("this adapter takes one write at a time")
        state, adapter = harness.start_at(harness.small), harness.adapter
        size = harness.large
        missing = ScaleChange("contract-missing", size, harness.small, None, "the contract suite says so")
        calls: list[Callable[[], object]] = [
            lambda: _scale_error(adapter, harness.target, harness.change(state, size), harness.call()),
            lambda: _scale_error(adapter, harness.missing, missing, harness.call(-1)),
            lambda: _scale_error(adapter, harness.missing, missing, harness.call()),
            lambda: adapter.observe([harness.target], harness.call())[harness.target],
        ]
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as threads:
            answers = [future.result() for future in [threads.submit(call) for call in calls]]
        promise(answers[0] == Written(size), f"scale to {size} should be Written(size={size}), is {answers[0]}")
        promise_error(answers[1], _NOT_DONE, "scale after its deadline, beside others,")
        promise_error(answers[2], TargetNotFound, "scale of a missing target, beside others,")
        promise(isinstance(answers[3], TargetState), f"observe beside writes should be a state, is {answers[3]!r}")
        harness.settle(size)

    def test_a_back_end_that_does_not_answer_is_unavailable(self, harness: Harness) -> None:
        """An outage is neither a missing target nor a size of zero, and the call returns by the deadline."""
        adapter = harness.unreachable()
        if isinstance(adapter, str):
            raise SkipTest(adapter)
        change = ScaleChange("contract-outage", harness.large, harness.small, None, "the contract suite says so")
        seconds = 2.0
        began = time.monotonic()
        answer = _observe(adapter, [harness.target], harness.call(seconds))
        promise_prompt(began, seconds + _PROMPT_SECONDS, f"observe with {seconds:g} s to its deadline")
        began = time.monotonic()
        error = _scale_error(adapter, harness.target, change, harness.call(seconds))
        promise_prompt(began, seconds + _PROMPT_SECONDS, f"scale with {seconds:g} s to its deadline")
        adapter.close()
        promise_error(answer[harness.target], _NOT_DONE, "observe during an outage")
        promise_error(error, _NOT_DONE, "scale during an outage")

    def test_closing_is_quick_and_leaves_the_target_alone(self, harness: Harness) -> None:
        """A daemon that stops does so quickly and ends no worker. The next one sees the same."""
        before = harness.start_at(harness.small)
        began = time.monotonic()
        harness.rebuild()
        promise_prompt(began, _PROMPT_SECONDS, "close() and building anew")
        promise_same(before, harness.observe(), "the observation after close()")

    def _scale_and_settle(self, harness: Harness, start: int, size: int) -> tuple[TargetState, TargetState]:
        """Return the states at rest before and after."""
        before = harness.start_at(start)
        outcome = harness.adapter.scale(harness.target, harness.change(before, size), harness.call())
        promise(outcome == Written(size), f"scale from {start} to {size} should be Written(size={size}), is {outcome}")
        harness.wait_for(lambda state: state.replicas == size, f"to ask for the {size} just written")
        return before, harness.settle(size)


def _live(state: TargetState) -> set[str]:
    return {one.name for one in state.instances if one.phase is Phase.RUNNING and not one.deleting}


def _names(targets: Sequence[TargetRef]) -> str:
    return ", ".join(map(str, targets)) or "nothing"


def _observe(
    adapter: Adapter, targets: Sequence[TargetRef], call: Call
) -> Mapping[TargetRef, TargetState | TargetError]:
    """Return the answer, or the error of all targets as each target's."""
    try:
        return adapter.observe(targets, call)
    except TargetError as error:
        return dict.fromkeys(targets, error)


def _scale_error(adapter: Adapter, target: TargetRef, change: ScaleChange, call: Call) -> object:
    """Return the TargetError that scale raises, or the outcome that it returned instead."""
    try:
        return adapter.scale(target, change, call)
    except TargetError as error:
        return error


def _try_write(adapter: Adapter, target: TargetRef, call: Call) -> object:
    """Return the TargetError that try_write raises, or the answer that it returned instead."""
    try:
        return adapter.try_write(target, call)
    except TargetError as error:
        return error
