"""A limit that a connection's autoscalers share, as it is shown of one of them."""

from autoscaler.decide import apply_limits, decide
from autoscaler.documents.conclusion import conclusion
from autoscaler.documents.explain import explanation
from autoscaler.documents.level import Level
from autoscaler.documents.summary import Summary, summary
from autoscaler.documents.verdict import verdict
from autoscaler.model import Behavior, ConnectionLimits, Direction, Observation, Standing, Steering
from autoscaler.record import Record
from tests.decide.build import state, value
from tests.decide.fleet import AT_ONCE, Fleet, limits
from tests.replaced import replace

BUDGET = "fleet's removalBudget is 5 instances in 1m, of which 0 were left; more from "
TOTAL = "fleet's maxTotal is 12, of which 12 are in use"


def held(limited: ConnectionLimits, size: int, wanted: int, behavior: Behavior | None = AT_ONCE) -> Record:
    """A cycle in which nothing is left for an autoscaler of this size that wants another one."""
    fleet = Fleet(limited, {"web": size})
    if limited.removal_budget is not None:
        fleet.cycle({"web": size - limited.removal_budget.instances})
    scaler = replace(fleet.scalers["web"], behavior=behavior)
    history, size = fleet.histories["web"], fleet.sizes["web"]
    observed = Observation(state(size), (value(1000 * wanted),))
    standing: Standing = fleet.standing(0)
    made = apply_limits([decide(scaler, observed, history, fleet.now)], {"web": history}, standing, fleet.now)
    return Record(scaler, made.decisions[0], observed, history)


def shown(record: Record) -> Summary:
    return summary("web", record.scaler, record.decision, Steering(), configured=True)


def test_a_removal_budget_is_named_and_is_no_warning() -> None:
    """It lets go by itself, as policies do."""
    record = held(limits(5), 25, 3)
    assert conclusion(record).startswith(f"stays at 20: {BUDGET}")
    assert (verdict(record.decision, Steering()).limited_by or "").startswith(BUDGET)
    assert (shown(record).state, shown(record).level) == ("limited", Level.NORMAL)


def test_a_sum_that_is_reached_is_named_and_a_warning() -> None:
    """Nobody gets what the load asks for until somebody raises it."""
    record = held(limits(total=12), 12, 20)
    assert conclusion(record) == f"stays at 12: {TOTAL}"
    assert verdict(record.decision, Steering()).limited_by == TOTAL
    assert (shown(record).state, shown(record).level) == ("limited", Level.WARNING)


def test_what_comes_next_is_not_foretold_while_it_holds() -> None:
    """That depends on all of the connection's autoscalers; saying what one alone would do would be wrong."""
    told = explanation(held(limits(5), 25, 3))
    assert told.if_unchanged is None
    out, inwards = told.ways
    assert (inwards.direction, inwards.earliest) == (Direction.IN, None)
    assert [step.reason for step in inwards.hurdles] == ["RemovalBudgetLimit"]
    assert out.earliest is not None
    assert f"  In the way: {BUDGET}" in inwards.text
    assert any(line.startswith("RemovalBudgetLimit: 3 -> 20 (fleet's removalBudget is") for line in told.lines)


def test_no_way_in_is_foretold_to_lead_out() -> None:
    """The window still holds the size that was wanted: without the limit, that would come first."""
    told = explanation(held(limits(total=12), 12, 20, behavior=None))
    _, inwards = told.ways
    assert (inwards.direction, inwards.earliest) == (Direction.IN, None)
    assert "at the earliest" not in inwards.text
