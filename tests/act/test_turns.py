"""The order of writes."""

from autoscaler.act.actuator import Turns, Write
from autoscaler.errors import TargetDeferred, TargetUnavailable
from autoscaler.model import Written
from tests.decisions import rescale


def out(name: str) -> Write:
    decision = rescale(name, 5)
    assert decision.change is not None
    return Write(decision, decision.change)


def inward(name: str) -> Write:
    decision = rescale(name, 1)
    assert decision.change is not None
    return Write(decision, decision.change)


def order(turns: Turns, *writes: Write) -> list[str]:
    return [write.decision.name for write in turns.order(writes)]


def defer(turns: Turns, *writes: Write) -> None:
    for write in writes:
        turns.note(write.decision, TargetDeferred("no time"))


def test_scale_outs_go_first() -> None:
    """A delayed scale-out leaves load unserved; a delayed scale-in only costs money."""
    assert order(Turns(), inward("a"), out("b"), inward("c"), out("d")) == ["b", "d", "a", "c"]


def test_a_write_that_waited_precedes_others() -> None:
    """Otherwise the last autoscalers of a file starve while the first ones write in every cycle."""
    turns = Turns()
    defer(turns, out("c"), out("d"))
    defer(turns, out("d"))
    assert order(turns, out("a"), out("b"), out("c"), out("d")) == ["d", "c", "a", "b"]


def test_a_write_that_was_sent_has_had_its_turn() -> None:
    """Otherwise a write that hangs in each cycle would block all others."""
    turns = Turns()
    defer(turns, out("b"))
    turns.note(out("b").decision, TargetUnavailable("no answer"))
    assert order(turns, out("a"), out("b")) == ["a", "b"]
    defer(turns, out("b"))
    turns.note(out("b").decision, Written(5))
    assert order(turns, out("a"), out("b")) == ["a", "b"]


def test_a_cancelled_write_no_longer_waits() -> None:
    turns = Turns()
    defer(turns, out("b"))
    turns.note(out("b").decision, None)
    assert order(turns, out("a"), out("b")) == ["a", "b"]


def test_a_scale_in_waits_four_cycles_at_most() -> None:
    """Otherwise continuous scale-outs would prevent every scale-in."""
    turns = Turns()
    for _ in range(3):
        defer(turns, inward("b"))
    assert order(turns, out("a"), inward("b")) == ["a", "b"]
    defer(turns, inward("b"))
    assert order(turns, out("a"), inward("b")) == ["b", "a"]
