"""Adapters with concurrent writes: a hanging write affects only its own target, and each write has one outcome."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

from autoscaler.act.actuator import Actuator
from autoscaler.errors import StaleLedger, TargetDeferred, TargetError, TargetUnavailable
from autoscaler.model import Call, Decision, Outcome, ScaleChange, ScaleOutcome, TargetRef, TargetState, Written
from autoscaler.target import Adapter
from autoscaler.target.contract.harness import RecordingLogger
from autoscaler.threads import spawn
from tests.clocks import FakeClock
from tests.decisions import NOW, rescale
from tests.waiting import PATIENCE_SECONDS, until

_SECONDS = 0.125
"""The time limit of a cycle with a hanging write. Its clock stands still, so no other write lacks time."""


class BackEnd(Adapter):
    """A back end with two concurrent writes. Writes of the names in `hanging` do not return before `go_on`."""

    concurrent_writes = 2

    def __init__(self) -> None:
        self.hanging: set[str] = set()
        self.hang = 0
        """How many writes have begun to hang."""
        self.go_on = threading.Event()
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
                self.hang += 1
                self.go_on.wait(PATIENCE_SECONDS)
            return Written(change.size)
        finally:
            with self._lock:
                self.at_once -= 1


class Shard:
    """An actuator on a clock that stands still."""

    def __init__(self, back: BackEnd, is_current: Callable[[], bool] = lambda: True, shards: int = 1) -> None:
        self.clock = FakeClock()
        self.clock.advance(1000)  # a machine's clock does not begin at 0 either
        self.actuator = Actuator(back, self.clock, RecordingLogger(), is_current, shards)

    def act(self, *decisions: Decision, seconds: float = 30) -> Mapping[str, Outcome]:
        return self.actuator.act(decisions, Call(NOW, self.clock.monotonic() + seconds))

    def wait_for_end(self) -> None:
        until(lambda: not self.actuator.writers.writing(), "the end of the writes")


@pytest.fixture
def back() -> Iterator[BackEnd]:
    made = BackEnd()
    yield made
    made.go_on.set()


@pytest.fixture
def settled(back: BackEnd, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait for a cycle's deadline begins when each thread of the cycle has ended or hangs."""

    def spawn_and_wait(name: str, work: Callable[[], None]) -> None:
        before, thread = back.hang, spawn(name, work)
        until(lambda: thread.done() or back.hang > before, "the writes")

    monkeypatch.setattr("autoscaler.act.writers.spawn", spawn_and_wait)


def test_writes_run_concurrently_up_to_the_adapters_limit(back: BackEnd) -> None:
    """Two writes that wait for each other finish only if they run concurrently."""
    meeting = threading.Barrier(2, timeout=PATIENCE_SECONDS)

    class Meeting(BackEnd):
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
def test_the_shards_of_a_connection_divide_its_concurrent_writes(shards: int, share: int) -> None:
    """Together they send no more than one shard would, and hanging writes use up only their own shard's part."""
    meeting = threading.Barrier(share, timeout=PATIENCE_SECONDS)

    class Meeting(BackEnd):
        concurrent_writes = 8

        def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
            meeting.wait()
            return super().scale(target, change, call)

    back = Meeting()
    outcomes = Shard(back, shards=shards).act(*[rescale(f"s{number}") for number in range(16)])
    assert set(outcomes.values()) == {Written(5)}
    assert back.most_at_once <= share


@pytest.mark.usefixtures("settled")
def test_a_hanging_write_delays_no_other_beyond_the_deadline(back: BackEnd) -> None:
    """Its own outcome is unknown. The others are written and recorded."""
    back.hanging = {"a"}
    shard = Shard(back)
    outcomes = shard.act(*map(rescale, ["a", "b", "c"]), seconds=_SECONDS)
    assert (outcomes["b"], outcomes["c"]) == (Written(5), Written(5))
    assert isinstance(outcomes["a"], TargetUnavailable)
    assert "unknown until the next cycle" in str(outcomes["a"])
    assert shard.actuator.writers.writing()


@pytest.mark.usefixtures("settled")
def test_a_target_with_a_hanging_write_is_not_written_again(back: BackEnd) -> None:
    """Two writes to one target could arrive in either order. The other targets continue."""
    back.hanging = {"a"}
    shard = Shard(back)
    shard.act(rescale("a"), seconds=_SECONDS)
    outcomes = shard.act(rescale("a"), rescale("b"))
    assert "an earlier write hangs" in str(outcomes["a"])
    assert outcomes["b"] == Written(5)
    assert back.written == ["a", "b"]
    shard.clock.advance(5)
    assert shard.actuator.writers.overdue_seconds() == 5 - _SECONDS
    back.go_on.set()
    shard.wait_for_end()
    assert shard.actuator.writers.overdue_seconds() == 0
    assert shard.act(rescale("a")) == {"a": Written(5)}


@pytest.mark.usefixtures("settled")
def test_with_all_threads_hanging_the_rest_goes_first_next_time(back: BackEnd) -> None:
    """They had no turn, so nothing was sent for them."""
    back.hanging = {"a", "b"}
    shard = Shard(back)
    shard.act(rescale("a"), rescale("b"), seconds=_SECONDS)
    outcomes = shard.act(rescale("c"), seconds=_SECONDS)
    assert isinstance(outcomes["c"], TargetDeferred)
    assert "2 earlier writes hang" in str(outcomes["c"])
    assert back.written == ["a", "b"]


@pytest.mark.usefixtures("settled")
def test_a_late_outcome_changes_nothing(back: BackEnd) -> None:
    """Its cycle has already recorded another outcome."""
    back.hanging = {"a"}
    shard = Shard(back)
    outcomes = shard.act(rescale("a"), seconds=_SECONDS)
    before = dict(outcomes)
    back.go_on.set()
    shard.wait_for_end()
    assert outcomes == before


def test_each_write_checks_that_the_shard_is_current(back: BackEnd) -> None:
    """A successor writes to the same targets, so no thread starts a write after the takeover."""
    answers = iter([True, True])
    with pytest.raises(StaleLedger):
        Shard(back, lambda: next(answers, False)).act(*map(rescale, "abcdefgh"))
    assert len(back.written) == 2


class LibraryPanic(BaseException):
    """As raised by bindings to other languages."""


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("error", [LibraryPanic("hunter2"), SystemExit(3), KeyboardInterrupt(), MemoryError()])
def test_any_exception_of_an_adapter_affects_only_its_target(error: BaseException, most: int) -> None:
    """An error that is not an Exception ended the cycle after the writes and lost the record."""

    class Raising(BackEnd):
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
def test_an_invalid_number_of_concurrent_writes_is_one(odd: object) -> None:
    """An adapter's invalid number counts as one, which uses the shard's own thread."""

    class Odd(BackEnd):
        concurrent_writes = odd  # type: ignore[assignment]  # the mistake under test

        def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
            assert threading.current_thread() is threading.main_thread()
            return super().scale(target, change, call)

    assert Shard(Odd()).act(rescale("a"), rescale("b")) == {"a": Written(5), "b": Written(5)}
