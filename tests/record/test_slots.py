"""Which slot a target falls into: what is kept in the state depends on it."""

import pytest

from autoscaler.model import TargetRef
from autoscaler.record.slots import SLOTS, slot_of
from tests.replaced import replace


@pytest.mark.parametrize(
    ("target", "slot"),
    [
        (TargetRef("fleet", "web"), 11),
        (TargetRef("fleet", "api"), 151),
        (TargetRef("fleet", "web-asg"), 147),
        (TargetRef("nomad", "job/group", "default", "global"), 117),
        (TargetRef("nomad", "job/group", "default"), 111),
        (TargetRef("nomad", "job/group", None, "default"), 131),
        (TargetRef("fleet", "größe"), 178),
        (TargetRef("fleet", "half \ud800"), 217),
    ],
)
def test_a_slot_never_changes(target: TargetRef, slot: int) -> None:
    """After an upgrade another host would write what one of before still holds."""
    assert slot_of(target) == slot


def test_the_connections_name_does_not_count() -> None:
    """Slots are a connection's own."""
    target = TargetRef("fleet", "web", "default", "eu")
    assert slot_of(target) == slot_of(replace(target, adapter="other"))


def test_targets_spread_over_all_slots() -> None:
    """A fleet shares a connection evenly."""
    counts = [0] * SLOTS
    for number in range(100 * SLOTS):
        counts[slot_of(TargetRef("fleet", f"asg-{number}"))] += 1
    assert SLOTS == 256
    assert min(counts) > 50
    assert max(counts) < 150
