"""Nomad's events of decisions that were not written."""

from typing import Any

import pytest
from msgspec.structs import replace

from autoscaler.clock import SystemClock
from autoscaler.errors import TargetError, TargetNotScalable, TargetRefused, TargetUnavailable
from autoscaler.model import Decision, Held, HoldReason, Outcome, Proposed, Remembered, Written
from tests.adapters.nomad.conftest import Connect, LiveAdapter
from tests.servers.faults import Fault, running_faults
from tests.servers.nomad import NomadServer, unplaced

pytestmark = pytest.mark.slow


def _decision(connection: LiveAdapter, name: str, outcome: Outcome | None) -> Decision:
    return Decision(
        name="web",
        target=connection.ref(name),
        now=SystemClock().now(),
        dry_run=isinstance(outcome, Proposed),
        current=1,
        desired=3,
        change=None,
        conditions=(),
        events=(),
        metrics=(),
        trace=(),
        remembered=Remembered(),
        outcome=outcome,
    )


def _announce(connection: LiveAdapter, name: str, outcome: Outcome | None) -> None:
    decision = _decision(connection, name, outcome)
    connection.adapter.announce(decision.target, decision, connection.call())


def _events(nomad: NomadServer, job: str) -> list[dict[str, Any]]:
    """Return the events, newest first."""
    found = nomad.ask("GET", f"/v1/job/{job}/scale")["TaskGroups"]["work"]["Events"]
    return list(found or ())


def test_a_failed_write_is_recorded_without_a_count(direct: LiveAdapter, nomad: NomadServer) -> None:
    """Nomad refuses an event that has both a count and the error flag."""
    nomad.register(unplaced("failure"))
    before = direct.state("failure/work")
    _announce(direct, "failure/work", TargetRefused("count too large: 9 > 8"))
    (event,) = _events(nomad, "failure")
    assert (event["Error"], event["Count"]) == (True, None)
    assert event["Message"] == "cannot scale to 3: count too large: 9 > 8"
    assert direct.state("failure/work").revision == before.revision


def test_a_failure_is_recorded_once_per_change_of_state(direct: LiveAdapter, nomad: NomadServer) -> None:
    """Nomad keeps 20 events of a group: the same failure every 15 s would replace all others within 5 minutes."""
    nomad.register(unplaced("lasting"))
    for attempt in range(3):
        _announce(direct, "lasting/work", TargetUnavailable(f"no answer, attempt {attempt}"))
    assert len(_events(nomad, "lasting")) == 1
    _announce(direct, "lasting/work", TargetRefused("too large"))
    assert len(_events(nomad, "lasting")) == 2
    assert direct.scale("lasting/work", direct.state("lasting/work"), 3) == Written(3)
    _announce(direct, "lasting/work", TargetRefused("too large"))
    assert [event["Error"] for event in _events(nomad, "lasting")] == [True, False, True, True]


@pytest.mark.parametrize("outcome", [None, Held(HoldReason("DeploymentActive", "wait")), TargetNotScalable("system")])
def test_only_a_failed_write_leaves_an_event(direct: LiveAdapter, nomad: NomadServer, outcome: Outcome | None) -> None:
    """A hold is not a failure, and a target that cannot be scaled has no events."""
    nomad.register(unplaced("silent"))
    _announce(direct, "silent/work", outcome)
    assert _events(nomad, "silent") == []


def test_a_dry_run_leaves_no_event(direct: LiveAdapter, nomad: NomadServer) -> None:
    """A dry run changes nothing, including the events."""
    nomad.register(unplaced("dry"))
    _announce(direct, "dry/work", Proposed(3))
    assert _events(nomad, "dry") == []


def test_a_dry_run_is_recorded_when_asked_to(connect: Connect, nomad: NomadServer) -> None:
    """The event has no count, so nothing is scaled, and is recorded once for each size."""
    nomad.register(unplaced("drier"))
    connection = connect(address=nomad.url, recordDryRun=True)
    for size in (3, 3, 4):
        _announce(connection, "drier/work", Proposed(size))
    events = _events(nomad, "drier")
    assert [event["Message"] for event in events] == [
        "dry run: would scale from 1 to 4",
        "dry run: would scale from 1 to 3",
    ]
    assert [(event["Error"], event["Count"]) for event in events] == [(False, None)] * 2
    assert connection.state("drier/work").replicas == 1


def test_an_announcement_that_fails_is_tried_again(connect: Connect, nomad: NomadServer) -> None:
    """It raises a TargetError and is not counted as recorded."""
    nomad.register(unplaced("unheard"))
    with running_faults(nomad.url) as proxy:
        connection = connect(address=proxy.url)
        decision = _decision(connection, "unheard/work", TargetUnavailable("no answer"))
        proxy.faults.append(Fault("POST", 503, "later"))
        with pytest.raises(TargetError):
            connection.adapter.announce(decision.target, decision, connection.call())
        proxy.faults.clear()
        connection.adapter.announce(decision.target, replace(decision, desired=4), connection.call())
        connection.adapter.close()
    assert [event["Message"] for event in _events(nomad, "unheard")] == ["cannot scale to 4: no answer"]
