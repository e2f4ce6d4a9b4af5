"""Nomad refuses, fails, is slow, or answers with invalid data, in front of a real agent.

In each case the adapter writes no size and raises only TargetError.
"""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from autoscaler.errors import (
    TargetForbidden,
    TargetNotFound,
    TargetNotWritten,
    TargetRefused,
    TargetUnavailable,
)
from autoscaler.model import Conflict, TargetState
from tests.adapters.nomad.conftest import LiveAdapter
from tests.servers.faults import Fault, Faults
from tests.servers.nomad import NomadServer, unplaced

pytestmark = pytest.mark.slow
_FAULTS = {
    "unauthorized": (Fault("", 401, "who are you"), TargetForbidden, "who are you"),
    "forbidden": (Fault("", 403, "Permission denied"), TargetForbidden, "Permission denied"),
    "throttled": (Fault("", 429, "slow down"), TargetUnavailable, "429"),
    "broken": (Fault("", 500, "No cluster leader"), TargetUnavailable, "No cluster leader"),
    "bad gateway": (Fault("", 502, "<html>bad gateway</html>", "text/html"), TargetUnavailable, "bad gateway"),
    "redirected": (Fault("", 307, "over there"), TargetUnavailable, "307"),
    "not JSON": (Fault("", 200, "<html>welcome</html>", "text/html"), TargetUnavailable, "welcome"),
    "cut off": (Fault("", 200, '[{"ID": ', "application/json"), TargetUnavailable, "the answer is not"),
    "another shape": (Fault("", 200, '{"status": "success"}', "application/json"), TargetUnavailable, "agent's"),
    "empty entries": (Fault("", 200, "[{}]", "application/json"), TargetUnavailable, "agent's"),
}
_REFUSALS = ("unauthorized", "forbidden", "throttled", "broken", "bad gateway")


@pytest.fixture
def at_one(proxied: LiveAdapter, proxy: Faults, nomad: NomadServer) -> Iterator[TargetState]:
    """The state of a job `faulty` at count 1, which must keep that count."""
    nomad.register(unplaced("faulty"))
    seen = proxied.state("faulty/work")
    assert seen.replicas == 1
    yield seen
    proxy.faults.clear()
    assert proxied.state("faulty/work").replicas == 1


@pytest.mark.parametrize("name", _FAULTS)
def test_a_fault_of_a_read_is_reported_as_what_it_is(
    proxied: LiveAdapter, proxy: Faults, at_one: TargetState, name: str
) -> None:
    """An outage must not look like a job without instances, nor a refusal of credentials like an outage.

    When the read before a write fails, nothing is written, and the outcome says so.
    """
    fault, expected, said = _FAULTS[name]
    proxy.faults.append(fault)
    found, outcome = proxied.look("faulty/work"), proxied.scale("faulty/work", at_one, 3)
    assert isinstance(found, expected), found
    assert isinstance(outcome, TargetNotWritten if expected is TargetUnavailable else expected), outcome
    assert said in str(found)
    assert said in str(outcome)
    assert proxy.count("POST") == 0


@pytest.mark.parametrize("name", [*_REFUSALS, "not JSON", "empty entries"])
def test_a_write_that_fails_is_reported_as_what_it_is(
    proxied: LiveAdapter, proxy: Faults, at_one: TargetState, name: str
) -> None:
    """The read succeeds and the write fails. Nomad performs none that it throttles, or that finds no leader."""
    fault, expected, said = _FAULTS[name]
    expected = TargetNotWritten if name in ("throttled", "broken") else expected
    proxy.faults.append(replace(fault, pattern="POST"))
    outcome = proxied.scale("faulty/work", at_one, 3)
    assert isinstance(outcome, expected), outcome
    assert said in str(outcome)


@pytest.mark.parametrize("listed", ["jobs", "deployments", "allocations"])
def test_a_list_that_fails_is_not_an_empty_one(
    proxied: LiveAdapter, proxy: Faults, at_one: TargetState, listed: str
) -> None:
    """Without deployments there would be no hold, without allocations no instances."""
    proxy.faults.append(Fault(f"/v1/{listed}", 500, "lost"))
    assert isinstance(proxied.look("faulty/work"), TargetUnavailable)


def test_half_of_a_batch_failing_leaves_the_other_half(
    proxied: LiveAdapter, proxy: Faults, at_one: TargetState, nomad: NomadServer
) -> None:
    """A job that cannot be read fails alone, and is read the next time."""
    nomad.register(unplaced("half"))
    proxy.faults.append(Fault("/v1/job/half", 500, "rot", times=1))
    answer = proxied.observe("faulty/work", "half/work")
    assert isinstance(answer["faulty/work"], TargetState)
    assert isinstance(answer["half/work"], TargetUnavailable)
    assert isinstance(proxied.observe("faulty/work", "half/work")["half/work"], TargetState)


def test_jobs_that_a_cycle_had_no_time_for_are_read_in_the_next(
    proxied: LiveAdapter, proxy: Faults, nomad: NomadServer
) -> None:
    """A daemon that starts on a large cluster reads some jobs each cycle; jobs that were read do not wait."""
    names = [f"queue-{number}" for number in range(8)]
    for name in names:
        nomad.register(unplaced(name, count=0))
    proxy.faults.append(Fault("/v1/job/queue-", first=lambda: time.sleep(0.4)))
    read = []
    for _ in range(60):
        answer = proxied.observe(*(f"{name}/work" for name in names), seconds=1.5)
        assert {type(one) for one in answer.values()} <= {TargetState, TargetUnavailable}
        read.append(sum(isinstance(one, TargetState) for one in answer.values()))
        if read[-1] == len(names):
            break
    assert read[0] < len(names)
    assert read[-1] == len(names)


def test_a_target_deleted_in_the_moment_of_the_write_is_not_found(
    proxied: LiveAdapter, proxy: Faults, nomad: NomadServer
) -> None:
    """The job is deleted after the last read and before the write."""
    nomad.register(unplaced("vanished"))
    seen = proxied.state("vanished/work")
    proxy.faults.append(Fault("POST", first=lambda: nomad.purge("vanished"), times=1))
    assert isinstance(proxied.scale("vanished/work", seen, 3), TargetNotFound)


def test_http_409_is_a_conflict(proxied: LiveAdapter, proxy: Faults, at_one: TargetState) -> None:
    """A gateway in front of Nomad may answer it."""
    proxy.faults.append(Fault("POST", 409, "changed meanwhile"))
    assert isinstance(proxied.scale("faulty/work", at_one, 3), Conflict)


def test_another_refusal_of_a_write_is_refused(proxied: LiveAdapter, proxy: Faults, at_one: TargetState) -> None:
    """A cluster-wide limit on counts is an HTTP 500, and a retry does not help."""
    said = "total count was greater than configured job_max_count: 9 > 8"
    proxy.faults.append(Fault("POST", 500, said))
    outcome = proxied.scale("faulty/work", at_one, 3)
    assert isinstance(outcome, TargetRefused)
    assert said in str(outcome)
