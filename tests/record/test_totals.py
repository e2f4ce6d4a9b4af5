"""The last known sizes count towards the total limit of a connection."""

from autoscaler.decide import apply_outcome
from autoscaler.errors import TargetUnavailable
from autoscaler.model import Decision, Outcome, ScaleChange, Status, TargetRef, Written, shard_of
from autoscaler.record.housekeeping import Retention
from autoscaler.record.ledger import Ledger
from autoscaler.record.state import State
from tests.decisions import remembering
from tests.limits.fleet import limits
from tests.record.conftest import Opener, each_database
from tests.record.samples import FLEET, at, decision, falling, keep, rising, save, scaler
from tests.replaced import replace

TOTAL = limits(total=40)
NAMES = [f"s{number}" for number in range(6)]
MAXIMUM = scaler("s0", "s0").max_replicas
GONE = TargetUnavailable("no answer")


def shard(state: State, number: int = 0, shards: int = 1) -> Ledger:
    """Return one of so many shards, with autoscalers from 1 to 100."""
    scalers = [scaler(name, name) for name in NAMES]
    state.follow(Retention(), scalers)
    ledger = state.ledger(FLEET, 1 + number, shards)
    ledger.follow([one for one in scalers if shard_of(one.target, shards).number == 1 + number], limits=TOTAL)
    return ledger


def write(ledger: Ledger, made: Decision, outcome: Outcome) -> None:
    ledger.recall([scaler(made.name, made.name)])
    ledger.intend([made])
    save(ledger, apply_outcome(made, outcome))


def unreadable(seconds: float, name: str, status: Status) -> Decision:
    return remembering(replace(decision(seconds, name, name), current=None, desired=None), status=status)


def save_unread(ledger: Ledger, *names: str) -> None:
    """Run a cycle that could not read these targets."""
    keep(ledger, *[unreadable(0, name, Status(0, 0)) for name in names])


def sizes(ledger: Ledger) -> dict[str, int]:
    return dict(ledger.standing(at(60)).sizes)


def test_a_target_that_was_never_read_counts_with_its_minimum(opener: Opener) -> None:
    """It will have at least this size. Before its first cycle it may have any size."""
    ledger = shard(opener.state())
    assert sizes(ledger) == dict.fromkeys(NAMES, MAXIMUM)
    save_unread(ledger, *NAMES)
    assert sizes(ledger) == dict.fromkeys(NAMES, 1)
    assert ledger.standing(at(60)).others == 0


def test_written_sizes_and_sizes_that_may_still_arrive_count(opener: Opener) -> None:
    """The size that was read is older."""
    ledger = shard(opener.state())
    assert sizes(ledger)["s0"] == MAXIMUM
    write(ledger, rising(0, 8, "s0", "s0"), Written(8))
    write(ledger, rising(0, 9, "s1", "s1"), GONE)
    keep(ledger, decision(0, "s2", "s2"))
    known = {"s0": 8, "s1": 9, "s2": 5} | dict.fromkeys(NAMES[3:], MAXIMUM)
    assert sizes(ledger) == known
    opener.close()
    assert sizes(shard(opener.state())) == known


def test_a_size_that_was_set_from_outside_counts_while_it_is_changed(opener: Opener) -> None:
    """With the older recorded size, others would use room that is taken, or leave room that is free."""
    ledger = shard(opener.state())
    keep(ledger, decision(0, "s0", "s0"), decision(0, "s1", "s1"))
    ledger.recall([scaler("s0", "s0"), scaler("s1", "s1")])
    ledger.intend([changing("s0", 12, 8), changing("s1", 3, 2)])
    assert (sizes(ledger)["s0"], sizes(ledger)["s1"]) == (12, 3)


def changing(name: str, before: int, after: int) -> Decision:
    """Return a decision that changes the size that was read in this cycle."""
    change = ScaleChange(f"{name}-15", after, before, None, "cpu off target")
    return replace(decision(15, name, name, size=after), current=before, change=change)


def test_a_target_that_cannot_be_read_keeps_its_last_known_size(opener: Opener) -> None:
    """It keeps it after a restart, too. A size that was wanted last may have been reached."""
    ledger = shard(opener.state())
    assert sizes(ledger)["s0"] == MAXIMUM
    write(ledger, rising(0, 8, "s0", "s0"), Written(8))
    keep(ledger, unreadable(15, "s0", Status(5, 8)))
    assert sizes(ledger)["s0"] == 8
    opener.close()
    assert sizes(shard(opener.state()))["s0"] == 8


@each_database
def test_each_shard_knows_what_the_others_have(opener: Opener) -> None:
    """A removed autoscaler counts nothing; one without a cycle counts with its maximum."""
    state = opener.state()
    for name in NAMES[1:]:
        keep(shard(state), decision(0, name, name))
    write(shard(state), rising(0, 20, "gone", "gone"), Written(20))
    own = [sum(shard_of(TargetRef(FLEET, name), 3).number == n for name in NAMES[1:]) for n in (1, 2, 3)]
    first = shard_of(TargetRef(FLEET, NAMES[0]), 3).number - 1
    for number, ledger in enumerate([shard(state, number, 3) for number in range(3)]):
        unknown = MAXIMUM if number == first else 0
        standing = ledger.standing(at(60))
        assert sum(standing.sizes.values()) == 5 * own[number] + unknown
        assert standing.others == 5 * (sum(own) - own[number]) + MAXIMUM - unknown
    second = next(name for name in NAMES[1:] if shard_of(TargetRef(FLEET, name), 3).number == 2)
    before = shard(state, 0, 3).standing(at(60)).others
    write(shard(state, 1, 3), rising(60, 8, second, second), Written(8))
    assert shard(state, 0, 3).standing(at(60)).others == before + 3


def test_a_scale_in_without_an_outcome_frees_no_room(opener: Opener) -> None:
    """A daemon that died in its first cycle recorded no other size."""
    ledger = shard(opener.state())
    made = falling(0, "s0", 2)
    ledger.recall([scaler("s0", "s0")])
    assert ledger.intend([made]) == {}
    opener.close()
    assert sizes(shard(opener.state()))["s0"] == 5
