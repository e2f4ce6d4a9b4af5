"""The limits of a connection count what its autoscalers did under other names, from the first cycle on."""

from autoscaler.decide import apply_outcome
from autoscaler.errors import TargetUnavailable
from autoscaler.model import Autoscaler, ConnectionLimits, Decision, TargetRef, Written
from autoscaler.record.housekeeping import Retention
from autoscaler.record.ledger import Ledger
from autoscaler.record.state import State
from tests.limits.fleet import limits
from tests.record.conftest import Opener
from tests.record.samples import FLEET, at, decision, falling, scaler
from tests.record.samples import save as save_as
from tests.replaced import replace

NEW = "renamed"
BUDGET, TOTAL = limits(20), limits(total=40)
SHARDS = 2


def of(name: str, connection: str = FLEET, target: str = "") -> Autoscaler:
    return replace(scaler(name), target=TargetRef(connection, target or name))


def serving(state: State, scalers: list[Autoscaler], shown: list[Autoscaler], limited: ConnectionLimits) -> Ledger:
    """Return the ledger of `shown`, of a daemon with all these autoscalers, whose connections are at one place."""

    def scaled(target: TargetRef) -> str:
        return f"here {target.name}"

    state.follow(Retention(), scalers, scaled)
    ledger = state.ledger(shown[0].target.adapter, 1, SHARDS)
    ledger.follow(shown, limited, scaled)
    ledger.claim()
    return ledger


def run(ledger: Ledger, scalers: list[Autoscaler], *made: Decision) -> None:
    ledger.recall(scalers)
    live = [one for one in made if one.change is not None]
    assert ledger.intend(live) == {}
    done = [one if one.change is None else apply_outcome(one, Written(one.change.size)) for one in made]
    save_as(ledger, *done, scalers={one.name: one for one in scalers})


def test_a_removal_budget_counts_what_a_renamed_connection_removed(opener: Opener) -> None:
    """Also in the first cycle, and what another shard removed, whose rows have the former name still."""
    before = [of("a"), of("b")]
    run(serving(opener.state(), before, before, BUDGET), before, falling(0, "a"), falling(0, "b", 4))
    opener.close()
    after = [of("a", NEW), of("b", NEW)]
    ledger = serving(opener.state(), after, after[:1], BUDGET)
    found = [(one.name, one.instances) for one in ledger.standing(at(15)).removals]
    assert sorted(found) == [("a", 3), ("b", 1)]


def test_another_connection_at_the_place_does_not_count_what_moved_away(opener: Opener) -> None:
    before = [of("a"), of("b")]
    run(serving(opener.state(), before, before, BUDGET), before, falling(0, "a"), falling(0, "b", 4))
    opener.close()
    after = [of("a"), of("b", NEW)]
    ledger = serving(opener.state(), after, after[:1], BUDGET)
    assert [(one.name, one.instances) for one in ledger.standing(at(15)).removals] == [("a", 3)]


def test_the_total_counts_the_sizes_of_a_renamed_connection(opener: Opener) -> None:
    """As their maximum, they would leave no room in the first cycle."""
    before = [of("a"), of("b")]
    run(
        serving(opener.state(), before, before, TOTAL),
        before,
        *[replace(decision(0, name), target=TargetRef(FLEET, name)) for name in ("a", "b")],
    )
    opener.close()
    after = [of("a", NEW), of("b", NEW)]
    standing = serving(opener.state(), after, after[:1], TOTAL).standing(at(15))
    assert (standing.sizes, standing.others) == ({"a": 5}, 5)


def test_autoscalers_that_swap_their_targets_keep_each_targets_removals(opener: Opener) -> None:
    """Both were intended at one time, so that time and name alone would give each the other's."""
    before = [of("a", target="x"), of("b", target="y")]
    made = [
        replace(falling(0, "a", 1), target=TargetRef(FLEET, "x")),
        replace(falling(0, "b", 4), target=TargetRef(FLEET, "y")),
    ]
    ledger = serving(opener.state(), before, before, BUDGET)
    ledger.recall(before)
    assert ledger.intend(made) == {}
    gone = TargetUnavailable("no answer")
    save_as(ledger, *[apply_outcome(one, gone) for one in made], scalers={one.name: one for one in before})
    opener.close()
    after = [of("a", target="y"), of("b", target="x")]
    ledger = serving(opener.state(), after, after, BUDGET)
    ledger.recall(after)
    assert sorted((one.name, one.instances) for one in ledger.standing(at(15)).removals) == [("a", 1), ("b", 4)]
    again = replace(falling(15, "b", 2), target=TargetRef(FLEET, "x"))  # only one of them is written
    assert ledger.intend([again]) == {}
    counted = [(one.name, one.instances) for one in ledger.standing(at(16)).removals]
    assert sorted(counted) == [("a", 1), ("b", 4)], "the repetition replaces the one before"
