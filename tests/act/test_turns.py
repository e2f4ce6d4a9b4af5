"""The order of writes."""

from autoscaler.act.actuator import Turns
from autoscaler.errors import TargetDeferred, TargetUnavailable
from autoscaler.model import Decision, Written
from tests.decisions import rescale


def out(name: str) -> Decision:
    return rescale(name, 5)


def inward(name: str) -> Decision:
    return rescale(name, 1)


def order(turns: Turns, *decisions: Decision) -> list[str]:
    return [made.name for made in turns.order(decisions)]


def defer(turns: Turns, *decisions: Decision) -> None:
    for made in decisions:
        turns.note(made, TargetDeferred("no time"))


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
    turns.note(out("b"), TargetUnavailable("no answer"))
    assert order(turns, out("a"), out("b")) == ["a", "b"]
    defer(turns, out("b"))
    turns.note(out("b"), Written(5))
    assert order(turns, out("a"), out("b")) == ["a", "b"]


def test_a_cancelled_write_no_longer_waits() -> None:
    turns = Turns()
    defer(turns, out("b"))
    turns.note(out("b"), None)
    assert order(turns, out("a"), out("b")) == ["a", "b"]


def test_a_scale_in_waits_four_cycles_at_most() -> None:
    """Otherwise continuous scale-outs would prevent every scale-in."""
    turns = Turns()
    for _ in range(3):
        defer(turns, inward("b"))
    assert order(turns, out("a"), inward("b")) == ["a", "b"]
    defer(turns, inward("b"))
    assert order(turns, out("a"), inward("b")) == ["b", "a"]
