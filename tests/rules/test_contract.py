"""What every rule has to keep to."""

import inspect

import pytest

from autoscaler.model import Rules
from autoscaler.rules import RULES, plan_of
from autoscaler.rules.headroom import Headroom
from autoscaler.rules.rule import Rule
from autoscaler.rules.shown import Shown, ShownDetail, ShownInstance, ShownMemory, ShownMetric, ShownSettings
from autoscaler.view.parts import parts

KEYS = ("keys", "controller_keys", "instance_metric_keys", "total_metric_keys")


@pytest.mark.parametrize("kind", RULES, ids=lambda kind: kind.name)
def test_a_rule_that_reads_civil_time_says_so(kind: type[Rule]) -> None:
    """Else nothing fails, and daemons that share a state disagree about midnight."""
    reads = "cycle.civil" in inspect.getsource(kind)
    assert reads is kind.by_calendar


def test_no_two_rules_have_the_same_name_or_key() -> None:
    assert len({kind.name for kind in RULES}) == len(RULES)
    for keys in KEYS:
        names = [name for kind in RULES if getattr(kind, keys) for name in getattr(kind, keys).model_fields]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("kind", [ShownSettings, ShownMetric, ShownMemory, ShownDetail, ShownInstance])
def test_no_two_rules_show_the_same_key(kind: type[Shown]) -> None:
    """Else one would show what the other says. An autoscaler without the rule has the defaults."""
    found = [part for _, part in parts(kind)]
    names = [name for part in found for name in part.model_fields]
    assert len(set(names)) == len(names)
    assert [part() for part in found]


@pytest.mark.parametrize("kind", RULES, ids=lambda kind: kind.name)
def test_a_key_that_is_left_out_configures_nothing(kind: type[Rule]) -> None:
    for keys in KEYS:
        section = getattr(kind, keys)
        assert section is None or section() == section.model_validate({})


def test_autoscalers_with_equal_rules_share_a_plan() -> None:
    """A plan takes a kilobyte, and 10,000 autoscalers have few different rules."""
    assert plan_of(Rules([Headroom(replicas=2)])) is plan_of(Rules([Headroom(replicas=2)]))
    assert plan_of(Rules()) is plan_of(Rules())
    assert plan_of(Rules([Headroom(replicas=3)])) is not plan_of(Rules([Headroom(replicas=2)]))
