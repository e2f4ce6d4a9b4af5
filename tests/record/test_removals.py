"""The state counts removals with the intents, and corrects them with the outcomes."""

import pytest

from autoscaler.decide import apply_outcome
from autoscaler.errors import StaleLedger, StateError, TargetNotWritten, TargetUnavailable
from autoscaler.model import (
    MAX_PERIOD,
    Conflict,
    ConnectionLimits,
    Decision,
    Outcome,
    Proposed,
    RemovalBudget,
    ScaleChange,
    TargetRef,
    Written,
    shard_of,
)
from autoscaler.record.ledger import Ledger
from autoscaler.record.state import State
from tests.clocks import FakeClock
from tests.limits.fleet import limits
from tests.record.conftest import Opener, each_database
from tests.record.refused import refused
from tests.record.samples import FLEET, START, at, count_rows, decision, falling, save, scaler
from tests.replaced import replace

NAMES = [f"s{number}" for number in range(6)]
MINUTE = limits(20)
GONE = TargetUnavailable("no answer")


def shard(state: State, limited: ConnectionLimits = MINUTE, number: int = 0, shards: int = 1) -> Ledger:
    """Return the ledger of one of so many shards, in a new epoch."""
    ledger = state.ledger(FLEET, 1 + number, shards)
    ledger.follow([scaler(name, name) for name in NAMES], limits=limited)
    return ledger


def intend(ledger: Ledger, *made: Decision) -> None:
    ledger.recall([scaler(one.name, one.name) for one in made])
    assert ledger.intend(made) == {}


def cycle(ledger: Ledger, made: Decision, outcome: Outcome) -> None:
    intend(ledger, made)
    save(ledger, apply_outcome(made, outcome))


def counted(ledger: Ledger, seconds: float) -> list[tuple[str, float, int]]:
    """Return name, time and instances of the removals that count at this time."""
    removals = ledger.standing(at(seconds)).removals
    return [(one.name, (one.at - at(0)).total_seconds(), one.instances) for one in removals]


def test_removals_count_after_a_restart(opener: Opener) -> None:
    """Otherwise a daemon that restarts every minute would have a fresh budget each time."""
    ledger = shard(opener.state())
    cycle(ledger, falling(0, "s0"), Written(2))
    cycle(ledger, falling(15, "s1", 4), Written(4))
    opener.close()
    ledger = shard(opener.state())
    assert counted(ledger, 20) == [("s0", 0, 3), ("s1", 15, 1)]
    assert counted(ledger, 60) == [("s1", 15, 1)]


def test_a_removal_that_was_not_written_is_free_again(opener: Opener) -> None:
    """A removal that was written in part or has no answer still counts."""
    ledger = shard(opener.state())
    made = [falling(0, name) for name in NAMES[:5]]
    intend(ledger, *made)
    ends: list[Outcome] = [Conflict("it changed"), GONE, Written(2), Written(4), TargetNotWritten("throttled")]
    save(ledger, *[apply_outcome(one, end) for one, end in zip(made, ends, strict=True)])
    assert counted(ledger, 15) == [("s1", 0, 3), ("s2", 0, 3), ("s3", 0, 1)]


def test_a_repeated_scale_in_replaces_the_one_before(opener: Opener) -> None:
    """If the repetition was not sent, the first one may still arrive."""
    ledger = shard(opener.state())
    cycle(ledger, falling(0, "s0", 1), GONE)
    cycle(ledger, falling(15, "s0", 2), Conflict("it changed"))
    assert counted(ledger, 30) == [("s0", 0, 4)]
    opener.close()
    ledger = shard(opener.state())
    cycle(ledger, falling(30, "s0", 2), GONE)
    assert counted(ledger, 45) == [("s0", 30, 4)]
    cycle(ledger, falling(45, "s0", 2), Written(2))
    assert counted(ledger, 45) == [("s0", 45, 3)]


@each_database
def test_an_intent_of_a_cycle_without_a_record_is_counted_once(opener: Opener) -> None:
    """The next cycle intends nothing: a reload made it a dry run."""
    ledger = shard(opener.state())
    cycle(ledger, falling(0, "s0", 1), GONE)
    intend(ledger, falling(15, "s0", 2))
    with refused(ledger, "INSERT INTO block"):
        save(ledger, apply_outcome(falling(15, "s0", 2), Written(2)))
    dry = replace(falling(30, "s0", 2), dry_run=True)
    ledger.recall([scaler("s0", "s0")])
    assert ledger.intend([dry]) == {}
    save(ledger, apply_outcome(dry, Proposed(2)))
    assert counted(ledger, 30) == [("s0", 15, 4)]


def test_a_scale_in_that_is_repeated_after_the_period_counts_by_itself(opener: Opener) -> None:
    """The removals of a minute ago are free again for all."""
    ledger = shard(opener.state())
    cycle(ledger, falling(0, "s0", 1), GONE)
    intend(ledger, falling(60, "s0", 3))
    assert counted(ledger, 60) == [("s0", 60, 2)]


def test_a_dry_run_and_growth_are_not_counted(opener: Opener) -> None:
    """Nothing leaves."""
    ledger = shard(opener.state())
    dry = replace(falling(0, "s0"), dry_run=True)
    intend(ledger, dry, replace(falling(0, "s1"), change=ScaleChange("x", 9, 5, None, "cpu above target")))
    save(ledger, apply_outcome(dry, Proposed(2)))
    assert counted(ledger, 15) == []


def test_without_a_budget_nothing_is_counted(opener: Opener) -> None:
    """Its rows would never be read."""
    ledger = shard(opener.state(), ConnectionLimits())
    cycle(ledger, falling(0, "s0"), Written(2))
    assert count_rows(ledger, "removal") == 0


def test_removals_older_than_the_longest_period_are_deleted(opener: Opener) -> None:
    """It is the longest period that a reload could set, not the present one."""
    ledger, longest = shard(opener.state()), MAX_PERIOD.total_seconds()
    cycle(ledger, falling(0, "s0"), Written(2))
    cycle(ledger, falling(longest - 1, "s1"), Written(2))
    assert count_rows(ledger, "removal") == 2
    longest_budget = ConnectionLimits(RemovalBudget(10, MAX_PERIOD))
    ledger.follow([scaler(name, name) for name in NAMES], limits=longest_budget)
    assert len(counted(ledger, longest - 1)) == 2
    cycle(ledger, falling(longest + 60, "s2"), Written(2))  # a minute later, the interval of upkeep
    assert count_rows(ledger, "removal") == 2


def test_the_shards_of_a_connection_count_each_others_removals(opener: Opener) -> None:
    """They do after a reload that changes their number, too."""
    state = opener.state()
    first = shard(state)
    for place, name in enumerate(NAMES):
        cycle(first, falling(place, name, 4), Written(4))
    ledgers = [shard(state, number=number, shards=3) for number in range(3)]
    for ledger in ledgers:
        assert [name for name, _, _ in counted(ledger, 15)] == NAMES
    with pytest.raises(StaleLedger):
        intend(first, falling(15, "s0"))
    mine = next(name for name in NAMES if shard_of(TargetRef(FLEET, name), 3).number == 2)
    cycle(ledgers[1], falling(15, mine), Written(2))
    assert (mine, 15.0, 3) in counted(ledgers[0], 15)


@each_database
def test_a_shard_that_intends_too_late_is_refused(opener: Opener) -> None:
    """Another shard has used the rest of the budget before its commit."""
    state = opener.state()
    ledgers = [shard(state, limits(4), number, 2) for number in range(2)]
    names = [next(name for name in NAMES if shard_of(TargetRef(FLEET, name), 2).number == n) for n in (1, 2)]
    intend(ledgers[0], falling(0, names[0]))
    ledgers[1].recall([scaler(names[1], names[1])])
    refused = ledgers[1].intend([falling(0, names[1])])
    assert [type(error) for error in refused.values()] == [StateError]
    assert str(refused[names[1]]) == (
        "nothing was written because another shard used the limit first: fleet's removalBudget is 4 instances in 1m, "
        f"of which 1 was left; more from {at(60).isoformat(timespec='seconds')}; the next cycle tries again"
    )
    assert ledgers[1].recall([scaler(names[1], names[1])])[names[1]].pending is None
    intend(ledgers[1], falling(60, names[1]))


def test_a_repetition_of_a_counted_removal_is_accepted(opener: Opener) -> None:
    """Its own unfinished write, which it replaces, has used up the budget."""
    ledger = shard(opener.state(), limits(4))
    cycle(ledger, falling(0, "s0", 1), GONE)
    cycle(ledger, falling(15, "s0", 1), GONE)
    assert counted(ledger, 15) == [("s0", 15, 4)]


def test_removals_of_an_earlier_cycle_still_count(opener: Opener) -> None:
    """That cycle could not record the outcome of its write; this one writes nothing."""
    ledger = shard(opener.state())
    intend(ledger, falling(0, "s0"))
    unwritten = replace(decision(0, "s0", "s0"), outcome=Conflict("it changed"))
    ledger.recall([scaler("s0", "s0")])
    assert ledger.intend([unwritten]) == {}
    save(ledger, unwritten)
    assert counted(ledger, 15) == [("s0", 0, 3)]


def test_a_target_with_a_hanging_write_gets_no_new_intent(opener: Opener) -> None:
    """Its possible removals still count, and the rest is for the others."""
    ledger = shard(opener.state(), limits(4))
    intend(ledger, falling(0, "s0"))
    scalers = [scaler(name, name) for name in ("s0", "s1")]
    recalled = ledger.recall(scalers)
    made = [falling(15, "s0", 1), falling(15, "s1", 4)]
    assert ledger.intend(made, frozenset({made[0].target})) == {}
    assert counted(ledger, 15) == [("s0", 0, 3), ("s1", 15, 1)]
    assert ledger.recall(scalers)["s0"].pending == recalled["s0"].pending


def test_a_step_of_the_clock_by_a_day_frees_no_budget(opener: Opener) -> None:
    """Housekeeping ran after the step, and later scale-ins of other autoscalers. Ages decide what is deleted."""
    clock = FakeClock(START)
    state = opener.state(clock=clock)
    ledger = shard(state)
    ledger.follow_clock(clock.moment())
    cycle(ledger, falling(0, "s0"), Written(2))
    clock.advance(15)
    clock.step(86_400)
    for _ in range(2):
        state.tidy(clock.now())
        ledger.follow_clock(clock.moment())
        cycle(ledger, falling(86_415, "s1", 4), Written(4))
    assert counted(ledger, 86_415) == [("s0", 86_400, 3), ("s1", 86_415, 1), ("s1", 86_415, 1)]
    clock.advance(MAX_PERIOD.total_seconds())
    ledger.follow_clock(clock.moment())
    cycle(ledger, falling(86_415 + MAX_PERIOD.total_seconds(), "s2"), Written(2))
    assert count_rows(ledger, "removal") == 1


def test_a_step_back_of_the_clock_lets_old_removals_go(opener: Opener) -> None:
    """They are old by the time since the machine was started."""
    clock = FakeClock(START)
    ledger = shard(opener.state(clock=clock))
    ledger.follow_clock(clock.moment())
    cycle(ledger, falling(0, "s0"), Written(2))
    clock.advance(MAX_PERIOD.total_seconds() + 15)
    clock.step(-MAX_PERIOD.total_seconds())
    ledger.follow_clock(clock.moment())
    cycle(ledger, falling(15, "s1"), Written(2))
    assert counted(ledger, 15) == [("s1", 15, 3)]
    assert count_rows(ledger, "removal") == 1


def test_an_unfinished_scale_in_is_found_again_after_the_clock_was_set(opener: Opener) -> None:
    """Its time is stored twice, and both are moved."""
    clock = FakeClock(START)
    ledger = shard(opener.state(clock=clock))
    ledger.follow_clock(clock.moment())
    cycle(ledger, falling(0, "s0", 1), GONE)
    clock.step(-600)
    ledger.follow_clock(clock.moment())
    intend(ledger, falling(-585, "s0", 2))
    assert counted(ledger, -585) == [("s0", -585, 4)]
