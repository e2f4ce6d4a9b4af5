"""Which shard a target falls into: what daemons hold depends on it."""

from collections import Counter

import pytest

from autoscaler.model import ShardName, TargetRef, shard_of
from tests.replaced import replace


@pytest.mark.parametrize(
    ("target", "of", "number"),
    [
        (TargetRef("fleet", "web"), 4, 3),
        (TargetRef("fleet", "api"), 4, 2),
        (TargetRef("fleet", "web"), 256, 227),
        (TargetRef("nomad", "job/group"), 12, 3),
        (TargetRef("fleet", "größe"), 12, 1),
        (TargetRef("fleet", "half \ud800"), 12, 10),
        (TargetRef("fleet", "web"), 1, 1),
    ],
)
def test_a_shard_never_changes(target: TargetRef, of: int, number: int) -> None:
    """After an upgrade another host would write what one of before still holds."""
    assert shard_of(target, of) == ShardName(target.adapter, number, of)


def test_only_the_targets_name_counts() -> None:
    """A namespace that is written out where it was the default must not move the target to another host."""
    target = TargetRef("fleet", "web")
    assert shard_of(replace(target, namespace="default", region="eu"), 7) == shard_of(target, 7)
    assert shard_of(replace(target, adapter="other"), 7).number == shard_of(target, 7).number


def test_targets_spread_over_all_shards() -> None:
    """A fleet shares a connection evenly."""
    counts = Counter(shard_of(TargetRef("fleet", f"asg-{number}"), 12) for number in range(12_000))
    assert sorted(counts) == [ShardName("fleet", number, 12) for number in range(1, 13)]
    assert min(counts.values()) > 850
    assert max(counts.values()) < 1_150
