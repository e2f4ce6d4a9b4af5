"""With what a daemon that shares its state writes: its part of what is divided, before its lease ends."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from autoscaler.act import Actuator
from autoscaler.clock import SystemClock
from autoscaler.model import Call, Decision, Outcome
from autoscaler.runtime import Membership
from autoscaler.runtime.running_shard import Ports
from autoscaler.target.contract.harness import RecordingLogger
from tests.daemon.test_membership import FakeLeases
from tests.decisions import NOW


@pytest.fixture
def leases() -> FakeLeases:
    return FakeLeases()


@pytest.fixture
def membership(leases: FakeLeases) -> Membership:
    return Membership(leases, SystemClock(), RecordingLogger())  # type: ignore[arg-type]  # it stands for the database's


class Writing:
    """Stands for the actuator: with which call it is to write."""

    def act(self, decisions: Sequence[Decision], call: Call) -> Mapping[str, Outcome]:
        self.call = call
        return {}


def call_of(membership: Membership, deadline: float) -> Call:
    """What a shard's cycle with this deadline writes with."""
    actuator = Writing()
    unused: Any = None
    Ports(unused, unused, cast("Actuator", actuator), SystemClock(), membership).act((), Call(NOW, deadline))
    return actuator.call


def test_without_a_lease_its_share_of_what_is_divided_stays_as_it_was(
    leases: FakeLeases, membership: Membership
) -> None:
    """Cycles that are under way go on asking: when all lose the database, each would ask with the whole budget."""
    assert membership.members == 1
    for members, counted in ((3, 3), (0, 3), (2, 2)):  # 0: as `Leases` has it until it has joined again
        leases.members = members
        membership._turn()
        assert membership.members == counted
        assert call_of(membership, 100).members == counted


def test_a_write_has_to_end_before_the_lease_does(leases: FakeLeases, membership: Membership) -> None:
    """A successor may write from then on."""
    leases.left = 6.0
    now = time.monotonic()
    assert call_of(membership, now + 100).deadline == pytest.approx(now + 6, abs=1)
    assert call_of(membership, now + 3).deadline == now + 3
    leases.left = -1.0
    assert call_of(membership, now + 3).deadline <= time.monotonic()
