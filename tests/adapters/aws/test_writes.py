"""The memory of written sizes and terminated instances, with concurrent threads."""

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from adapters.aws.writes import BELIEVED_FOR, Writes
from autoscaler.errors import StateError
from autoscaler.model import TargetRef
from autoscaler.target import AdapterValues, ForgetfulMemory
from autoscaler.target.contract import RecordingLogger
from tests.clocks import FakeClock


def writes(memory: Any, clock: FakeClock | None = None) -> Writes:
    return Writes("fleet", memory, clock or FakeClock(), RecordingLogger())


class Counting(ForgetfulMemory):
    """Counts the saves."""

    def __init__(self) -> None:
        super().__init__()
        self.saved = 0

    def save(self, target: TargetRef, values: AdapterValues | None) -> None:
        self.saved += 1
        super().save(target, values)


def test_an_end_that_is_taken_back_leaves_its_own_groups_last_one() -> None:
    """Two groups are written concurrently; one restored the other's write."""
    of = writes(ForgetfulMemory())
    of.accepted("a", "1", 3, 2)
    of.accepted("b", "2", 6, 5)
    of.ending("a", "3", "i-1", 2)
    of.ending("b", "4", "i-2", 5)
    of.forget("a")
    assert (of.size("a", 3), of.size("b", 6)) == (2, 5)
    assert of.ended("a") == frozenset()
    assert of.unanswered("a") is None
    assert of.ended("b") == frozenset({"i-2"})
    assert of.unanswered("b") == "i-2"


def test_an_end_without_an_answer_leaves_the_size_as_aws_reports_it() -> None:
    """This also holds after a restart; the instance that may be terminating stays known."""
    memory = ForgetfulMemory()
    writes(memory).ending("a", "1", "i-1", 3)
    successor = writes(memory)
    successor.load()
    assert (successor.size("a", 3), successor.size("a", 2)) == (3, 2)
    assert successor.unanswered("a") == "i-1"


def test_an_end_that_was_answered_is_a_size_that_is_believed() -> None:
    memory = ForgetfulMemory()
    before = writes(memory)
    before.ending("a", "1", "i-1", 3)
    before.accepted("a", "1", 3, 2, ended=True)
    successor = writes(memory)
    successor.load()
    assert (successor.size("a", 3), successor.unanswered("a")) == (2, None)
    assert successor.ended("a") == frozenset({"i-1"})


def test_a_scale_out_does_not_answer_whether_an_instance_was_ended() -> None:
    """The next scale-in still waits and terminates no second instance."""
    of = writes(ForgetfulMemory())
    of.ending("a", "1", "i-1", 3)
    of.accepted("a", "2", 3, 5)
    assert of.unanswered("a") == "i-1"


def test_a_size_that_swings_is_kept_once() -> None:
    """Consecutive writes within a minute keep the sizes before them."""
    memory = Counting()
    of = writes(memory)
    for number in range(100):
        of.accepted("a", str(number), 3 + number % 2, 4 - number % 2)
    (kept,) = memory.load().values()
    assert kept["passed"] == (3, 4)


def test_a_size_without_an_answer_is_hidden_by_no_older_one() -> None:
    """The answer to the write back from 4 to 2 is lost with the daemon. AWS's size is then not a lagging read."""
    memory = ForgetfulMemory()
    before = writes(memory)
    before.accepted("a", "1", 2, 4)
    before.asking("a")
    successor = writes(memory)
    successor.load()
    assert successor.size("a", 2) == 2
    before.unknown("a")
    assert before.size("a", 2) == 2


def test_a_size_without_an_answer_is_hidden_by_no_size_that_another_host_takes_for_young() -> None:
    """The clock of the second of three hosts is an hour ahead. The answer to its write from 4 to 2 is lost with it."""
    memory = ForgetfulMemory()
    first, second = FakeClock(), FakeClock()
    writes(memory, first).accepted("a", "1", 2, 4)
    second.reboot()
    second.advance(3600)
    before = writes(memory, second)
    before.load()
    before.asking("a")
    third = writes(memory, first)
    third.load()
    assert third.size("a", 2) == 2


def test_a_request_after_one_whose_answer_was_lost_needs_no_commit() -> None:
    """The state has no accepted size then."""
    memory = Counting()
    of = writes(memory)
    of.accepted("a", "1", 2, 4)
    of.asking("a")
    memory.saved = 0
    of.asking("a")
    of.asking("b")
    assert memory.saved == 0


def test_an_end_without_an_answer_is_hidden_by_no_older_size() -> None:
    memory = ForgetfulMemory()
    before = writes(memory)
    before.accepted("a", "1", 2, 3)
    before.ending("a", "2", "i-1", 3)
    successor = writes(memory)
    successor.load()
    assert successor.size("a", 2) == 2


def test_a_size_that_was_refused_leaves_the_older_one_believed() -> None:
    """AWS throttles while its reads still lag the previous write."""
    of = writes(ForgetfulMemory())
    of.accepted("a", "1", 2, 4)
    of.asking("a")
    assert of.size("a", 2) == 4


def test_after_a_minute_nothing_of_it_counts() -> None:
    """An instance that was not terminated may be terminated then."""
    clock = FakeClock()
    of = writes(ForgetfulMemory(), clock)
    of.ending("a", "1", "i-1", 3)
    clock.advance(BELIEVED_FOR.total_seconds())
    assert (of.ended("a"), of.unanswered("a"), of.has("a", "1")) == (frozenset(), None, False)


@pytest.mark.parametrize("step", [3600, -3600])
def test_a_wall_clock_that_is_set_changes_no_minute(step: float) -> None:
    """AWS's clock is not set with it."""
    clock = FakeClock()
    of = writes(ForgetfulMemory(), clock)
    of.accepted("a", "1", 1, 3)
    clock.step(step)
    assert of.size("a", 1) == 3
    clock.advance(BELIEVED_FOR.total_seconds())
    assert of.size("a", 1) == 1


def test_old_writes_do_not_delay_a_later_one() -> None:
    """A thousand groups are scaled at once. A minute later, a write is one commit like any other."""
    memory, clock = Counting(), FakeClock()
    of = writes(memory, clock)
    for number in range(1000):
        of.accepted(f"group-{number}", "1", 1, 2)
    clock.advance(3600)
    memory.saved = 0
    of.accepted("group-1", "2", 2, 3)
    assert memory.saved == 1
    assert of.size("group-2", 1) == 1


def test_a_size_does_not_wait_for_a_commit() -> None:
    """One thread saves a group on a slow disk while the cycle reads another group."""
    begun, go_on = threading.Event(), threading.Event()

    class Slow(ForgetfulMemory):
        def save(self, target: TargetRef, values: AdapterValues | None) -> None:
            begun.set()
            go_on.wait(60)

    of = writes(Slow())
    saving = threading.Thread(target=of.accepted, args=("a", "1", 1, 2))
    reading = threading.Thread(target=of.size, args=("b", 5))
    saving.start()
    assert begun.wait(60)
    reading.start()
    reading.join(30)  # less than the disk takes
    waits = reading.is_alive()
    go_on.set()
    saving.join()
    reading.join()
    assert not waits


def test_an_end_that_cannot_be_remembered_is_as_if_it_was_never_begun() -> None:
    class Full(ForgetfulMemory):
        def save(self, target: TargetRef, values: AdapterValues | None) -> None:
            raise StateError("the disk is full")

    of = writes(Full())
    with pytest.raises(StateError):
        of.ending("a", "1", "i-1", 3)
    assert of.unanswered("a") is None


def test_a_write_that_ends_while_the_memory_is_read_is_not_replaced_by_an_older_one() -> None:
    """A thread of an earlier cycle gets AWS's answer meanwhile."""

    class Overtaken(ForgetfulMemory):
        def load(self) -> Mapping[TargetRef, AdapterValues]:
            found = super().load()
            of.accepted("a", "2", 2, 3)
            return found

    of = writes(Overtaken())
    of.accepted("a", "1", 1, 2)
    of.load()
    assert of.size("a", 1) == 3
