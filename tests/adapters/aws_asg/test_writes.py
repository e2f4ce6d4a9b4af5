"""What is remembered of sizes written, by threads side by side."""

import threading
from collections.abc import Mapping
from typing import Any

from adapters.aws_asg.writes import Writes
from autoscaler.model import TargetRef
from autoscaler.target import AdapterValues, ForgetfulMemory
from autoscaler.target.contract import RecordingLogger
from tests.schedule.clock import FakeClock


def writes(memory: Any, clock: FakeClock | None = None) -> Writes:
    return Writes("fleet", memory, clock or FakeClock(), RecordingLogger())


def test_a_write_that_is_taken_back_leaves_its_own_groups_last_one() -> None:
    """Two groups are written at a time: what one takes back was once the other's."""
    of = writes(ForgetfulMemory())
    of.remember("a", "1", 1, 2)
    of.remember("b", "2", 5, 6)
    of.remember("a", "3", 2, 3)
    of.remember("b", "4", 6, 7)
    of.forget("a")
    assert (of.size("a", 1), of.size("b", 5)) == (2, 7)


class SlowMemory(ForgetfulMemory):
    """Saves one at a time, as a database with one connection, and notes who came while another was at it."""

    def __init__(self) -> None:
        super().__init__()
        self.first = threading.Event()
        self.go_on = threading.Event()

    def save(self, target: TargetRef, values: AdapterValues | None) -> None:
        if values is None:  # an old write is dropped; meanwhile its group is written anew
            self.first.set()
            self.go_on.wait(0.2)
        super().save(target, values)

    def of(self, name: str) -> Mapping[str, Any]:
        return self.load()[TargetRef("fleet", name)]


def test_what_is_saved_last_is_what_is_remembered() -> None:
    """A thread that drops a group's old write must not undo the new one that another thread saves at this moment."""
    memory, clock = SlowMemory(), FakeClock()
    of = writes(memory, clock)
    of.remember("a", "1", 1, 2)
    clock.advance(3600)
    dropping = threading.Thread(target=of.remember, args=("b", "2", 5, 6))
    dropping.start()
    assert memory.first.wait(10)
    of.remember("a", "3", 2, 3)
    memory.go_on.set()
    dropping.join()
    assert memory.of("a")["size"] == 3


def test_what_another_daemon_wrote_is_believed_once_its_group_comes_here() -> None:
    """AWS's reads lag its writes, whoever sent them: the old size must not be taken for somebody's change."""
    memory = ForgetfulMemory()
    here, there = writes(memory), writes(memory)
    here.load()
    here.remember("a", "1", 1, 2)
    assert here.size("a", 2) == 2  # seen: from then on AWS is believed
    there.remember("b", "2", 5, 6)
    assert here.size("b", 5) == 5
    here.reload()
    here.load()
    assert here.size("b", 5) == 6
    assert here.size("a", 1) == 1
