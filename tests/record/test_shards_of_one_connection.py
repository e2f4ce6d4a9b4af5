"""Several shards of one connection on one state have their own targets and share pages."""

from collections.abc import Sequence

import pytest

from autoscaler.decide import remember
from autoscaler.errors import StaleLedger
from autoscaler.model import History, ShardName, TargetRef, shard_of
from autoscaler.record.ledger import Ledger
from autoscaler.record.state import State
from tests.record.conftest import Opener, each_database
from tests.record.epochs import epochs_of
from tests.record.samples import FLEET, at, decision, keep, rising, save, scaler, written

NAMES = [f"s{number}" for number in range(12)]
Remembered = dict[str, History]


def of_shard(shard: int, shards: int) -> list[str]:
    """Return the autoscalers whose targets this shard serves. Targets have the names of the autoscalers."""
    return [name for name in NAMES if shard_of(TargetRef(FLEET, name), shards).number == 1 + shard]


def cycle(ledger: Ledger, names: Sequence[str], number: int, expected: Remembered) -> None:
    """Run a cycle of these. It asserts the expected memory and updates it."""
    scalers = {name: scaler(name, name) for name in names}
    assert ledger.recall(list(scalers.values())) == {name: expected.get(name, History()) for name in names}
    made = [rising(15 * number, name=name, target=name) for name in names]
    ledger.intend(made)
    outcomes = [written(one) for one in made]
    save(ledger, *outcomes)
    for one in outcomes:
        expected[one.name] = remember(scalers[one.name], expected.get(one.name, History()), one)


def ledgers(state: State, shards: int) -> list[Ledger]:
    return [state.ledger(FLEET, 1 + shard, shards) for shard in range(shards)]


@each_database
def test_shards_that_share_pages_remember_what_each_recorded(opener: Opener, short_blocks: int) -> None:
    """One shard packs the pages of all, with the rows of the others, which continue from their memory."""
    state, expected = opener.state(), Remembered()
    cycle(state.ledger(FLEET), NAMES, 0, expected)  # in one order, because all shards share their chunk
    shards = ledgers(state, 4)
    for number in range(1, 6 * short_blocks):
        for shard, ledger in enumerate(shards):
            if shard != number % 3:  # at different speeds
                cycle(ledger, of_shard(shard, 4), number, expected)
    scalers = [scaler(name, name) for name in NAMES]
    assert opener.restart().recall(scalers) == expected
    for shard in range(4):
        for name in of_shard(shard, 4):
            cycles = [number for number in range(1, 6 * short_blocks) if shard != number % 3]
            recorded = [one.decision.now for one in opener.archive().records(name)]
            assert sorted(recorded) == [at(0), *(at(15 * number) for number in cycles)]


@pytest.mark.parametrize("after", [1, 2, 3, 8])
def test_after_a_change_of_their_number_shards_continue_from_the_same_memory(opener: Opener, after: int) -> None:
    """It has recommendations, scale events and an unfinished write."""
    state, expected = opener.state(), Remembered()
    before = ledgers(state, 4)
    for shard, ledger in enumerate(before):
        cycle(ledger, of_shard(shard, 4), 0, expected)
    scalers = [scaler(name, name) for name in NAMES]
    shard = next(shard for shard in range(4) if of_shard(shard, 4))
    mine = [each for each in scalers if each.name in of_shard(shard, 4)]
    before[shard].recall(mine)
    before[shard].intend([rising(15, name=mine[0].name, target=mine[0].name)])
    unfinished = before[shard].recall(mine)[mine[0].name]
    assert unfinished.pending is not None
    expected[mine[0].name] = unfinished
    for shard, ledger in enumerate(ledgers(state, after)):
        names = of_shard(shard, after)
        assert ledger.recall([scaler(name, name) for name in names]) == {name: expected[name] for name in names}
    for shard, ledger in enumerate(before):
        for name in of_shard(shard, 4):
            with pytest.raises(StaleLedger):
                keep(ledger, decision(30, name, name))


def test_a_shards_successor_does_not_change_the_epochs_of_the_others(opener: Opener) -> None:
    """One shard hangs and is superseded. The other three of its connection continue."""
    state = opener.state()
    shards = ledgers(state, 4)
    before = epochs_of(state)
    state.ledger(FLEET, 2, 4)
    assert [ledger.is_current() for ledger in shards] == [True, False, True, True]
    changed = {name for name, epoch in epochs_of(state).items() if name.of == 4 and epoch != before[name]}
    assert changed == {ShardName(FLEET, 2, 4)}


def test_an_adapter_gets_the_saved_values_of_its_own_shards_targets(opener: Opener) -> None:
    """Only the adapter of a target's shard knows its newest values."""
    state = opener.state()
    for shard, ledger in enumerate(ledgers(state, 4)):
        for name in of_shard(shard, 4):
            ledger.save_adapter_memory(TargetRef(FLEET, name), {"shard": shard})
    for shard, ledger in enumerate(ledgers(state, 4)):
        mine = {TargetRef(FLEET, name): {"shard": shard} for name in of_shard(shard, 4)}
        ledger.follow([scaler(name, name) for name in of_shard(shard, 4)])
        assert ledger.adapter_memory() == mine
    alone = state.ledger(FLEET)
    alone.follow([scaler(name, name) for name in NAMES])
    assert len(alone.adapter_memory()) == len(NAMES)
