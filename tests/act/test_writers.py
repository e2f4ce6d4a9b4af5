"""Adapters that take several writes at a time: one that hangs costs its own target, and each write has one outcome."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

from autoscaler.act import Actuator
from autoscaler.clock import SystemClock
from autoscaler.errors import StaleLedger, TargetDeferred, TargetError, TargetUnavailable
from autoscaler.model import Call, Decision, Outcome, ScaleChange, ScaleOutcome, TargetRef, TargetState, Written
from autoscaler.target.contract.harness import RecordingLogger
from tests.decisions import NOW, rescale

_SECONDS = 0.3
"""Of a cycle in which something hangs."""


class Back:
    """Takes two writes at a time. Writes of the names in `hanging` do not return before `release`."""

    concurrent_writes = 2

    def __init__(self) -> None:
        self.hanging: set[str] = set()
        self.release = threading.Event()
        self.written: list[str] = []
        self.at_once = 0
        self.most_at_once = 0
        self._lock = threading.Lock()

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        raise AssertionError("acting observes nothing")

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        name = target.name.removesuffix("-asg")
        with self._lock:
            self.written.append(name)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if name in self.hanging:
                self.release.wait(30)
            return Written(change.size)
        finally:
            with self._lock:
                self.at_once -= 1


class Shard:
    """An actuator on the machine's clock."""

    def __init__(self, back: Back, is_current: Callable[[], bool] = lambda: True, shards: int = 1) -> None:
        self.actuator = Actuator(back, SystemClock(), RecordingLogger(), is_current, shards)

    def act(self, *decisions: Decision, seconds: float = 30) -> Mapping[str, Outcome]:
        return self.actuator.act(decisions, Call(NOW, SystemClock().monotonic() + seconds))


@pytest.fixture
def back() -> Iterator[Back]:
    made = Back()
    yield made
    made.release.set()


def test_as_many_are_written_at_a_time_as_the_adapter_takes(back: Back) -> None:
    """Two that wait for each other come to an end only side by side."""
    meeting = threading.Barrier(2, timeout=10)

    class Meeting(Back):
        def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
            meeting.wait()
            return super().scale(target, change, call)

    names = ["a", "b", "c", "d"]
    pair = Meeting()
    assert Shard(pair).act(*map(rescale, names)) == dict.fromkeys(names, Written(5))
    assert sorted(pair.written) == names
    assert list(Shard(back).act(*map(rescale, names))) == names
    assert back.most_at_once <= 2


@pytest.mark.parametrize(("shards", "share"), [(1, 8), (3, 2), (4, 2), (8, 1), (64, 1)])
def test_the_shards_of_a_connection_divide_what_its_back_end_takes(shards: int, share: int) -> None:
    """Together they ask no more of it than one shard does, and one whose writes hang uses up its own share alone."""
    meeting = threading.Barrier(share, timeout=10)

    class Meeting(Back):
        concurrent_writes = 8

        def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
            meeting.wait()
            return super().scale(target, change, call)

    back = Meeting()
    outcomes = Shard(back, shards=shards).act(*[rescale(f"s{number}") for number in range(16)])
    assert set(outcomes.values()) == {Written(5)}
    assert back.most_at_once <= share


def test_a_write_that_hangs_holds_no_other_beyond_the_deadline(back: Back) -> None:
    """Its own outcome is unknown; the others are written and recorded."""
    back.hanging = {"a"}
    shard = Shard(back)
    outcomes = shard.act(*map(rescale, ["a", "b", "c"]), seconds=_SECONDS)
    assert (outcomes["b"], outcomes["c"]) == (Written(5), Written(5))
    assert isinstance(outcomes["a"], TargetUnavailable)
    assert "unknown until the next cycle" in str(outcomes["a"])
    assert shard.actuator.writing()


def test_a_target_whose_write_hangs_is_not_written_again_meanwhile(back: Back) -> None:
    """Two writes of one target could land in either order; the other targets go on."""
    back.hanging = {"a"}
    shard = Shard(back)
    shard.act(rescale("a"), seconds=_SECONDS)
    outcomes = shard.act(rescale("a"), rescale("b"))
    assert "an earlier write hangs" in str(outcomes["a"])
    assert outcomes["b"] == Written(5)
    assert back.written == ["a", "b"]
    assert shard.actuator.overdue_seconds() > 0
    back.release.set()
    while shard.actuator.writing():
        time.sleep(0.001)
    assert shard.actuator.overdue_seconds() == 0
    assert shard.act(rescale("a")) == {"a": Written(5)}


def test_where_every_thread_hangs_the_rest_goes_first_next_time(back: Back) -> None:
    """They have had no turn: nothing was sent for them."""
    back.hanging = {"a", "b"}
    shard = Shard(back)
    shard.act(rescale("a"), rescale("b"), seconds=_SECONDS)
    outcomes = shard.act(rescale("c"), seconds=_SECONDS)
    assert isinstance(outcomes["c"], TargetDeferred)
    assert "2 earlier writes hang" in str(outcomes["c"])
    assert back.written == ["a", "b"]


def test_an_outcome_that_comes_too_late_changes_nothing(back: Back) -> None:
    """The cycle that it belongs to has recorded another one."""
    back.hanging = {"a"}
    shard = Shard(back)
    outcomes = shard.act(rescale("a"), seconds=_SECONDS)
    before = dict(outcomes)
    back.release.set()
    while shard.actuator.writing():
        time.sleep(0.001)
    assert outcomes == before


def test_before_each_write_it_is_asked_whether_the_shard_is_current(back: Back) -> None:
    """A successor writes to the same targets: no thread begins a write after it has taken over."""
    answers = iter([True, True])
    with pytest.raises(StaleLedger):
        Shard(back, lambda: next(answers, False)).act(*map(rescale, "abcdefgh"))
    assert len(back.written) == 2


class LibraryPanic(BaseException):
    """As bindings to other languages raise."""


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("error", [LibraryPanic("hunter2"), SystemExit(3), KeyboardInterrupt(), MemoryError()])
def test_whatever_an_adapter_raises_costs_its_target_alone(error: BaseException, most: int) -> None:
    """An error that is not an Exception ended the cycle after writes: nothing of it was recorded."""

    class Raising(Back):
        concurrent_writes = most

        def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
            if target.name == "a-asg":
                raise error
            return super().scale(target, change, call)

    outcomes = Shard(Raising()).act(rescale("a"), rescale("b"))
    assert isinstance(outcomes["a"], TargetUnavailable)
    assert type(error).__name__ in str(outcomes["a"])
    assert "hunter2" not in str(outcomes["a"])
    assert outcomes["b"] == Written(5)


@pytest.mark.parametrize("odd", [None, 0, -3, "many", 2.5, True])
def test_an_odd_number_of_writes_at_a_time_is_one(odd: object) -> None:
    """Foreign code: what is not a number of threads is the safe one, the shard's own."""

    class Odd(Back):
        concurrent_writes = odd  # type: ignore[assignment]  # the mistake under test

        def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
            assert threading.current_thread() is threading.main_thread()
            return super().scale(target, change, call)

    assert Shard(Odd()).act(rescale("a"), rescale("b")) == {"a": Written(5), "b": Written(5)}


def test_daemons_that_share_the_state_divide_the_writes_at_a_time() -> None:
    """The back end takes so many of them all together; each has one at least."""
    back = Back()
    actuator = Actuator(back, SystemClock(), RecordingLogger())
    call = Call(NOW, SystemClock().monotonic() + 30, members=2)
    outcomes = actuator.act([rescale(name) for name in ("a", "b", "c")], call)
    assert {type(outcome) for outcome in outcomes.values()} == {Written}
    assert back.most_at_once == 1
