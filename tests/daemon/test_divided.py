"""Daemons that share a state divide limits on requests, and write before their lease ends."""

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
    """Stands for the actuator. Keeps the call of each write."""

    def act(self, decisions: Sequence[Decision], call: Call) -> Mapping[str, Outcome]:
        self.call = call
        return {}


def call_of(membership: Membership, deadline: float) -> Call:
    """Return the call of a write in a cycle with this deadline."""
    actuator = Writing()
    unused: Any = None
    Ports(unused, unused, cast("Actuator", actuator), SystemClock(), membership).act((), Call(NOW, deadline))
    return actuator.call


def test_without_a_lease_a_daemons_share_of_a_limit_stays(leases: FakeLeases, membership: Membership) -> None:
    """Running cycles still send requests. If all daemons lose the database, each would use the whole limit."""
    assert membership.members == 1
    for members, counted in ((3, 3), (0, 3), (2, 2)):  # 0: as `Leases` returns until it has joined again
        leases.members = members
        membership._turn()
        assert membership.members == counted
        assert call_of(membership, 100).members == counted


def test_a_write_must_end_before_the_lease(leases: FakeLeases, membership: Membership) -> None:
    """Then a successor may write."""
    leases.left = 6.0
    now = time.monotonic()
    assert call_of(membership, now + 100).deadline == pytest.approx(now + 6, abs=1)
    assert call_of(membership, now + 3).deadline == now + 3
    leases.left = -1.0
    assert call_of(membership, now + 3).deadline <= time.monotonic()
