"""Who is written first."""

from autoscaler.act.turns import Turns, Write
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


def test_scale_outs_go_first_else_as_they_came() -> None:
    """Load waits for a scale-out; for a scale-in only money does."""
    assert order(Turns(), inward("a"), out("b"), inward("c"), out("d")) == ["b", "d", "a", "c"]


def test_whoever_had_no_time_goes_before_whoever_had() -> None:
    """The tail of the file starved for as long as its head had something to write in every cycle."""
    turns = Turns()
    defer(turns, out("c"), out("d"))
    defer(turns, out("d"))
    assert order(turns, out("a"), out("b"), out("c"), out("d")) == ["d", "c", "a", "b"]


def test_a_write_that_was_tried_has_had_its_turn() -> None:
    """One that hangs until the deadline in each cycle would else keep all others from theirs."""
    turns = Turns()
    defer(turns, out("b"))
    turns.note(out("b").decision, TargetUnavailable("no answer"))
    assert order(turns, out("a"), out("b")) == ["a", "b"]
    defer(turns, out("b"))
    turns.note(out("b").decision, Written(5))
    assert order(turns, out("a"), out("b")) == ["a", "b"]


def test_what_is_not_to_be_written_any_more_waits_for_nothing() -> None:
    turns = Turns()
    defer(turns, out("b"))
    turns.note(out("b").decision, None)
    assert order(turns, out("a"), out("b")) == ["a", "b"]


def test_a_scale_in_waits_four_cycles_at_most() -> None:
    """Where scale-outs never cease, the rest would come to no write at all."""
    turns = Turns()
    for _ in range(3):
        defer(turns, inward("b"))
    assert order(turns, out("a"), inward("b")) == ["a", "b"]
    defer(turns, inward("b"))
    assert order(turns, out("a"), inward("b")) == ["b", "a"]
