"""The memories of rules that are installed no longer, or configured no longer."""

from autoscaler.model import History, Memories
from tests.decide.build import QUEUE_15, Life, scaler, value
from tests.replaced import replace


def test_the_memory_of_a_rule_that_is_not_installed_is_kept_and_said() -> None:
    """An earlier or later release may know it again."""
    memories = Memories({"tides": b"\x80"})
    life = Life(scaler(QUEUE_15), 3, history=History(rules=memories))
    for _ in range(2):
        made = life.step(value(45_000), after=15)
        assert life.history.rules == memories
        assert any("tides" in warning for warning in made.warnings)
    bare = replace(made, warnings=(), remembered=replace(made.remembered, rules=Memories()))
    life.history = replace(life.before, rules=Memories())
    assert life.step(value(45_000)) == bare


def test_a_write_keeps_the_memory_of_a_rule_that_is_not_installed() -> None:
    """Each other rule updates its own memory after a write."""
    memories = Memories({"tides": b"\x80"})
    life = Life(scaler(QUEUE_15), 3, history=History(rules=memories))
    assert life.step(value(90_000), after=15).written == 6
    assert life.history.rules == memories
