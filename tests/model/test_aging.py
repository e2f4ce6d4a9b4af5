"""Times that are remembered keep their age when the wall clock is set."""

from datetime import UTC, datetime, timedelta

from msgspec import Struct

from autoscaler.model import History, ManualControls, Memories, Pause, later
from autoscaler.model.steering import Direction

AT = datetime(2026, 3, 2, 8, tzinfo=UTC)
STEP = timedelta(hours=1)


class Seen(Struct, frozen=True):
    """What a rule remembers."""

    at: datetime
    of: tuple[tuple[str, datetime], ...] = ()
    by_name: dict[str, datetime] = {}


def test_memories_of_rules_move_with_the_clock_and_pauses_of_operators_do_not() -> None:
    """Bytes of a rule that is not installed stay as they are: nobody knows what they say."""
    manual = ManualControls(Pause(Direction.IN, "ann", "", AT, AT))
    memories = Memories({"seen": Seen(AT, (("a", AT),), {"b": AT}), "weather": b"\xff"})
    moved = later(History(manual=manual, rules=memories, at=AT), STEP)
    on = AT + STEP
    assert moved.rules == Memories({"seen": Seen(on, (("a", on),), {"b": on}), "weather": b"\xff"})
    assert (moved.manual, moved.at) == (manual, on)
