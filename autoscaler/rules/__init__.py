"""What the project adds to HPA: a rule a file, and here their order.

A rule after another one sees what that one said, and its bounds replace that one's.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar, cast

from pydantic import BaseModel

from autoscaler.hpa.instances import NOTHING_ASIDE, SetAside
from autoscaler.hpa.proposals import Measured
from autoscaler.hpa.proposals import propose as hpa_propose
from autoscaler.model import Autoscaler, Failure, MetricOutcome, MetricSpec, Reading, Rules, TargetState
from autoscaler.rules.brakes import Brakes
from autoscaler.rules.drain import DrainRule
from autoscaler.rules.fallback import Fallbacks
from autoscaler.rules.headroom import Headroom
from autoscaler.rules.idle import Idle
from autoscaler.rules.manual import Manual
from autoscaler.rules.recover_size import RecoverSize
from autoscaler.rules.rule import Rule, with_keys
from autoscaler.rules.schedules import Schedules
from autoscaler.rules.warm_up import WarmUp

RULES: Final[tuple[type[Rule], ...]] = (
    Schedules,
    Manual,
    WarmUp,
    Fallbacks,
    Headroom,
    RecoverSize,
    Brakes,
    DrainRule,
    Idle,
)
"""The rules that are installed, in the order in which a decision asks them.

Of two bounds the later rule's counts; of two holds the earlier rule gives the reason. A rule that needs what the
metrics come to when it is first asked stands after those that change it.
"""

_STAGES: Final = ("follow", "set_aside", "proposed", "outcomes", "goal")

_SectionT = TypeVar("_SectionT", bound=BaseModel)


def with_rule_keys(
    keys: Callable[[type[Rule]], type[BaseModel] | None],
) -> Callable[[type[_SectionT]], type[_SectionT]]:
    """Return a decorator of a section, which adds the keys of all rules behind its own."""
    return lambda section: with_keys(section, map(keys, RULES))


class Plan(NamedTuple):
    """An autoscaler's rules in order, and which of them take part in each stage."""

    rules: tuple[Rule, ...]
    names: frozenset[str]
    conditions: Mapping[str, str]
    """The type of each rule's condition, by the rule's name."""
    others_conditions: tuple[str, ...]
    """The types of the conditions of rules that the autoscaler does not have."""
    follow: tuple[Rule, ...]
    set_aside: tuple[Rule, ...]
    proposed: tuple[Rule, ...]
    outcomes: tuple[Rule, ...]
    goal: tuple[Rule, ...]


def plan_of(rules: Rules) -> Plan:
    """Return an autoscaler's rules: those that it configures, and the default ones. It is made once."""
    try:
        return cast("Plan", rules.plan)
    except AttributeError:
        rules.plan = plan = _plan(rules)
        return plan


def set_aside(plan: Plan, state: TargetState, now: datetime) -> SetAside:
    """Return the target's instances whose samples do not count, for the autoscaler with this plan."""
    for rule in plan.set_aside:
        found = rule.set_aside(state, now)
        if found is not None:
            return found
    return NOTHING_ASIDE


def propose(
    scaler: Autoscaler, metric: MetricSpec, reading: Reading | Failure, state: TargetState, now: datetime
) -> MetricOutcome:
    """Return what one metric proposes by itself, with the rules that change it."""
    plan = plan_of(scaler.rules)
    measured = hpa_propose(scaler, metric, reading, state, now, set_aside(plan, state, now))
    return with_rules(plan, scaler, state, measured).outcome


def with_rules(plan: Plan, scaler: Autoscaler, state: TargetState, measured: Measured) -> Measured:
    """Return what one metric proposes with the rules of an autoscaler that has this plan."""
    for rule in plan.proposed:
        measured = rule.proposed(scaler, state, measured)
    return measured


@lru_cache(maxsize=2**14)  # 10,000 autoscalers have few different rules, and share their plans
def _plan(rules: Rules) -> Plan:
    found = [rules.find(kind) or (kind() if kind.by_default else None) for kind in RULES]
    mine = tuple([each for each in found if each is not None])
    names = frozenset([each.name for each in mine])
    others = [kind.condition for kind in RULES if kind.condition is not None and kind.name not in names]
    stages = [tuple([each for each in mine if _overrides(type(each), stage)]) for stage in _STAGES]
    conditions = {each.name: each.condition for each in mine if each.condition is not None}
    return Plan(mine, names, conditions, tuple(others), *stages)


def _overrides(kind: type[Rule], stage: str) -> bool:
    return getattr(kind, stage) is not getattr(Rule, stage)


def changes_proposals(name: str) -> bool:
    """Return whether a step of this source is part of what a metric proposes: its rule has a stage `proposed`."""
    kind = rule_named(name)
    return kind is not None and _overrides(kind, "proposed")


def rule_named(name: str) -> type[Rule] | None:
    """Return the rule of this name; None: it is not installed."""
    return next((kind for kind in RULES if kind.name == name), None)
