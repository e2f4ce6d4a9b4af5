"""How the limits of a connection are shown on an autoscaler."""

from autoscaler.decide import decide
from autoscaler.limits.connection_limits import apply_limits
from autoscaler.model import Behavior, ConnectionLimits, Direction, LimitUsage, ManualControls, Observation
from autoscaler.record.values import Record
from autoscaler.view.explain import explanation
from autoscaler.view.level import Level
from autoscaler.view.story import why
from autoscaler.view.summary import Summary, summary
from autoscaler.view.verdict import limited_by
from tests.decide.build import state, value
from tests.limits.fleet import AT_ONCE, Fleet, limits
from tests.replaced import replace

BUDGET = "fleet's removalBudget is 5 instances in 1m, of which 0 were left; more from "
TOTAL = "fleet's maxTotal is 12, of which 12 are in use"


def held(limited: ConnectionLimits, size: int, wanted: int, behavior: Behavior | None = AT_ONCE) -> Record:
    """Return a cycle in which the limit leaves nothing to an autoscaler that wants another size."""
    fleet = Fleet(limited, {"web": size})
    if limited.removal_budget is not None:
        fleet.cycle({"web": size - limited.removal_budget.instances})
    scaler = replace(fleet.scalers["web"], behavior=behavior)
    history, size = fleet.histories["web"], fleet.sizes["web"]
    observed = Observation(state(size), (value(1000 * wanted),))
    standing: LimitUsage = fleet.standing(0)
    made = apply_limits([decide(scaler, observed, history, fleet.now)], {"web": history}, standing, fleet.now)
    return Record(scaler, made.decisions[0], observed, history)


def shown(record: Record) -> Summary:
    return summary("web", record.scaler, record.decision, ManualControls(), configured=True)


def test_a_spent_removal_budget_is_shown_and_no_warning() -> None:
    """It is available again after a time, as with policies."""
    record = held(limits(5), 25, 3)
    assert why(record.decision).startswith(f"load 0.15 of 1 asks for 3; {BUDGET}")
    assert (limited_by(record.decision) or "").startswith(BUDGET)
    assert (shown(record).state, shown(record).level) == ("limited", Level.NORMAL)


def test_a_reached_max_total_is_shown_as_a_warning() -> None:
    """Load is not served until an operator raises it."""
    record = held(limits(total=12), 12, 20)
    assert why(record.decision) == f"load 1.67 of 1 asks for 20; {TOTAL}"
    assert limited_by(record.decision) == TOTAL
    assert (shown(record).state, shown(record).level) == ("limited", Level.WARNING)


def test_no_change_is_predicted_while_a_limit_applies() -> None:
    """The next change depends on all autoscalers of the connection."""
    told = explanation(held(limits(5), 25, 3))
    assert told.if_unchanged is None
    out, inwards = told.ways
    assert (inwards.direction, inwards.earliest) == (Direction.IN, None)
    assert [step.reason for step in inwards.hurdles] == ["RemovalBudgetLimit"]
    assert out.earliest is not None
    assert f"  In the way: {BUDGET}" in inwards.text
    assert any(line.startswith(BUDGET) and line.endswith("(RemovalBudgetLimit) -> 20") for line in told.lines)


def test_a_scale_in_that_would_follow_a_scale_out_is_not_predicted() -> None:
    """The window contains the larger size, which would be set first without the limit."""
    told = explanation(held(limits(total=12), 12, 20, behavior=None))
    _, inwards = told.ways
    assert (inwards.direction, inwards.earliest) == (Direction.IN, None)
    assert "at the earliest" not in inwards.text
