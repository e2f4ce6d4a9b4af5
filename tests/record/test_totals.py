"""Last known sizes, for what a connection's autoscalers may sum to."""

from autoscaler.decide import conclude
from autoscaler.errors import TargetUnavailable
from autoscaler.model import Decision, Outcome, Share, Status, TargetRef, Written
from autoscaler.record import Ledger, Retention, State
from autoscaler.record.slots import shard_of, slots_of
from tests.decide.fleet import limits
from tests.record.conftest import Opener
from tests.record.samples import FLEET, at, decision, keep, rising, save, scaler
from tests.replaced import replace

TOTAL = limits(total=40)
NAMES = [f"s{number}" for number in range(6)]
GONE = TargetUnavailable("no answer")


def shard(state: State, share: Share = Share()) -> Ledger:  # noqa: B008 - it is frozen
    scalers = [scaler(name, name) for name in NAMES]
    state.follow(Retention(), scalers)
    ledger = state.ledger(FLEET, slots_of(share.number, share.of))
    mine = [one for one in scalers if shard_of(one.target, share.of) == share.number]
    ledger.follow(mine, limits=TOTAL, share=share)
    return ledger


def write(ledger: Ledger, made: Decision, outcome: Outcome) -> None:
    ledger.recall([scaler(made.name, made.name)])
    ledger.intend([made])
    save(ledger, conclude(made, outcome))


def unreadable(seconds: float, name: str, status: Status) -> Decision:
    return replace(decision(seconds, name, name), current=None, desired=None, status=status)


def sizes(ledger: Ledger) -> dict[str, int]:
    return dict(ledger.standing(at(60)).sizes)


def test_one_that_was_never_read_counts_with_its_minimum(opener: Opener) -> None:
    """So much will be there, whatever else is known of it."""
    assert sizes(shard(opener.state())) == dict.fromkeys(NAMES, 1)


def test_what_was_written_and_what_may_still_arrive_count(opener: Opener) -> None:
    """The size that was read is older than both."""
    ledger = shard(opener.state())
    assert sizes(ledger)["s0"] == 1
    write(ledger, rising(0, 8, "s0", "s0"), Written(8))
    write(ledger, rising(0, 9, "s1", "s1"), GONE)
    keep(ledger, decision(0, "s2", "s2"))
    assert sizes(ledger) == {"s0": 8, "s1": 9, "s2": 5, "s3": 1, "s4": 1, "s5": 1}
    opener.close()
    assert sizes(shard(opener.state())) == {"s0": 8, "s1": 9, "s2": 5, "s3": 1, "s4": 1, "s5": 1}


def test_a_target_that_cannot_be_read_keeps_its_last_known_size(opener: Opener) -> None:
    """Also through a restart, where a size that was wanted last counts as one that may be there."""
    ledger = shard(opener.state())
    assert sizes(ledger)["s0"] == 1
    write(ledger, rising(0, 8, "s0", "s0"), Written(8))
    keep(ledger, unreadable(15, "s0", Status(5, 8)))
    assert sizes(ledger)["s0"] == 8
    opener.close()
    assert sizes(shard(opener.state()))["s0"] == 8


def test_each_shard_knows_what_the_others_have(opener: Opener) -> None:
    """What one has beyond its part is not there for the others; one that left the configuration has nothing."""
    state = opener.state()
    for name in NAMES:
        keep(shard(state), decision(0, name, name))
    write(shard(state), rising(0, 20, "gone", "gone"), Written(20))
    shards = [shard(state, Share(number, 3)) for number in range(3)]
    expected = {number: 5 * sum(shard_of(TargetRef(FLEET, name), 3) == number for name in NAMES) for number in range(3)}
    for number, ledger in enumerate(shards):
        others = {other: total for other, total in expected.items() if other != number and total}
        assert ledger.standing(at(60)).totals == others
        assert sum(sizes(ledger).values()) == expected[number]
    first = next(name for name in NAMES if shard_of(TargetRef(FLEET, name), 3) == 1)
    write(shards[1], rising(60, 8, first, first), Written(8))
    assert shards[0].standing(at(60)).totals[1] == expected[1] + 3
