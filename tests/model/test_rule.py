"""What rules are configured to do, and what they remember, as values."""

import copy
import pickle

import pytest

from autoscaler.model import NO_RULES, History, Memories, Rules, UnknownRule
from autoscaler.rules import plan_of
from autoscaler.rules.brakes import BrakeMemory, Brakes
from autoscaler.rules.brakes.loss import LossBrake


@pytest.mark.parametrize("rules", [NO_RULES, Rules([Brakes(loss=LossBrake()), UnknownRule("weather", b"\xff")])])
def test_rules_are_pickled_without_what_is_derived_from_them(rules: Rules) -> None:
    """A large configuration comes from another process, and each autoscaler has rules of its own."""
    plain = pickle.dumps(Rules(rules))
    plan_of(rules)
    assert pickle.dumps(rules) == plain
    again = pickle.loads(plain)
    assert (again, hash(again)) == (rules, hash(rules))
    assert plan_of(again) == plan_of(rules)


@pytest.mark.parametrize("memories", [Memories(), Memories({"brakes": BrakeMemory(running=5), "weather": b"\xff"})])
def test_a_history_is_copied_and_pickled_with_what_rules_remember(memories: Memories) -> None:
    """Also if they remember nothing: a mapping proxy cannot be pickled."""
    history = History(rules=memories)
    assert copy.deepcopy(history) == history
    assert pickle.loads(pickle.dumps(history)) == history
