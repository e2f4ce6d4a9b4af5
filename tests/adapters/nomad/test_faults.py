"""Nomad refuses, fails, is slow, or answers with invalid data, in front of a real agent.

In each case the adapter writes no size and raises only TargetError.
"""

import time
from collections.abc import Iterator

import pytest

from autoscaler.errors import (
    TargetError,
    TargetForbidden,
    TargetNotFound,
    TargetNotWritten,
    TargetRefused,
    TargetUnavailable,
)
from autoscaler.model import Conflict, TargetState
from tests.adapters.nomad.conftest import Connect, LiveAdapter
from tests.servers.faults import Fault, Faults
from tests.servers.nomad import NomadServer, service
from tests.servers.ports import free_port

pytestmark = pytest.mark.slow
_DEADLINE_SECONDS = 1.0
_LATE_SECONDS = 3.0
"""Tolerance of the deadline on a busy machine; the faults last much longer."""
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
    nomad.register(service("faulty"))
    seen = proxied.state("faulty/work")
    assert seen.replicas == 1
    yield seen
    proxy.faults.clear()
    assert proxied.state("faulty/work").replicas == 1


@pytest.mark.parametrize("name", _FAULTS)
def test_observe_reports_a_fault_as_what_it_is(
    proxied: LiveAdapter, proxy: Faults, at_one: TargetState, name: str
) -> None:
    """An outage must not look like a job without instances, nor a refusal of credentials like an outage."""
    fault, expected, said = _FAULTS[name]
    proxy.faults.append(fault)
    found = proxied.look("faulty/work")
    assert isinstance(found, expected), found
    assert said in str(found)


@pytest.mark.parametrize("name", _FAULTS)
def test_scale_reports_a_fault_as_what_it_is(
    proxied: LiveAdapter, proxy: Faults, at_one: TargetState, name: str
) -> None:
    """When the read before the write fails, nothing is written, and the outcome says so."""
    fault, expected, said = _FAULTS[name]
    expected = TargetNotWritten if expected is TargetUnavailable else expected
    proxy.faults.append(fault)
    outcome = proxied.scale("faulty/work", at_one, 3)
    assert isinstance(outcome, expected), outcome
    assert said in str(outcome)
    assert proxy.count("POST") == 0


@pytest.mark.parametrize("name", [*_REFUSALS, "not JSON", "empty entries"])
def test_a_write_that_fails_is_reported_as_what_it_is(
    proxied: LiveAdapter, proxy: Faults, at_one: TargetState, name: str
) -> None:
    """The read succeeds and the write fails. Nomad performs none that it throttles, or that finds no leader."""
    fault, expected, said = _FAULTS[name]
    expected = TargetNotWritten if name in ("throttled", "broken") else expected
    proxy.faults.append(Fault("POST", fault.status, fault.body, fault.content_type))
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
    nomad.register(service("half"))
    targets = [proxied.ref("faulty/work"), proxied.ref("half/work")]
    proxy.faults.append(Fault("/v1/job/half", 500, "rot", times=1))
    answer = proxied.adapter.observe(targets, proxied.call())
    assert isinstance(answer[targets[0]], TargetState)
    assert isinstance(answer[targets[1]], TargetUnavailable)
    answer = proxied.adapter.observe(targets, proxied.call())
    assert isinstance(answer[targets[1]], TargetState)


def test_a_refused_connection_is_unavailable(connect: Connect) -> None:
    """The message names the address."""
    port = free_port()
    refused = connect(address=f"http://127.0.0.1:{port}").look("any/work")
    assert isinstance(refused, TargetUnavailable)
    assert f"127.0.0.1:{port}" in str(refused)
    assert "refused" in str(refused)


_SLOW = {
    "silent": Fault("", delay_seconds=60),
    "trickling": Fault("", 200, "[" + " " * 600 + "]", "application/json", trickle_seconds=0.1),
}


@pytest.mark.parametrize("name", _SLOW)
def test_a_slow_server_is_left_at_the_deadline(
    proxied: LiveAdapter, proxy: Faults, at_one: TargetState, name: str
) -> None:
    """Each byte of a slow answer arrives in time; the whole answer never does."""
    proxy.faults.append(_SLOW[name])
    target = proxied.ref("faulty/work")
    began = time.monotonic()
    found = proxied.adapter.observe([target], proxied.call(_DEADLINE_SECONDS))[target]
    assert time.monotonic() - began < _DEADLINE_SECONDS + _LATE_SECONDS
    assert isinstance(found, TargetUnavailable)
    assert "deadline" in str(found)
    began = time.monotonic()
    outcome = proxied.scale("faulty/work", at_one, 3, seconds=_DEADLINE_SECONDS)
    assert time.monotonic() - began < _DEADLINE_SECONDS + _LATE_SECONDS
    assert isinstance(outcome, TargetNotWritten)


def test_jobs_that_a_cycle_had_no_time_for_are_read_in_the_next(
    proxied: LiveAdapter, proxy: Faults, nomad: NomadServer
) -> None:
    """A daemon that starts on a large cluster reads some jobs each cycle; jobs that were read do not wait."""
    names = [f"queue-{number}" for number in range(8)]
    for name in names:
        nomad.register(service(name, count=0))
    proxy.faults.append(Fault("/v1/job/queue-", first=lambda: time.sleep(0.4)))
    targets = [proxied.ref(f"{name}/work") for name in names]
    read = []
    for _ in range(20):
        answer = proxied.adapter.observe(targets, proxied.call(1.5))
        assert {type(one) for one in answer.values()} <= {TargetState, TargetUnavailable}
        read.append(sum(isinstance(one, TargetState) for one in answer.values()))
        if read[-1] == len(names):
            break
    assert read[0] < len(names)
    assert read[-1] == len(names)


def test_a_write_without_an_answer_is_of_unknown_outcome(
    proxied: LiveAdapter, proxy: Faults, at_one: TargetState
) -> None:
    """The message says so; the next observation shows the result."""
    proxy.faults.append(Fault("POST", delay_seconds=60))
    outcome = proxied.scale("faulty/work", at_one, 3, seconds=_DEADLINE_SECONDS)
    assert isinstance(outcome, TargetUnavailable)
    assert "unknown" in str(outcome)


def test_the_connection_works_again_after_a_fault(proxied: LiveAdapter, proxy: Faults, at_one: TargetState) -> None:
    """The rest of an aborted reply must not count as the next one."""
    proxy.faults.append(_SLOW["trickling"])
    target = proxied.ref("faulty/work")
    assert isinstance(proxied.adapter.observe([target], proxied.call(0.5))[target], TargetError)
    proxy.faults.clear()
    assert proxied.state("faulty/work").replicas == 1


def test_a_target_deleted_between_observe_and_scale_is_not_found(direct: LiveAdapter, nomad: NomadServer) -> None:
    """The adapter does not create it again."""
    nomad.register(service("deleted"))
    seen = direct.state("deleted/work")
    nomad.purge("deleted")
    assert isinstance(direct.scale("deleted/work", seen, 3), TargetNotFound)
    assert isinstance(direct.look("deleted/work"), TargetNotFound)


def test_a_target_deleted_in_the_moment_of_the_write_is_not_found(
    proxied: LiveAdapter, proxy: Faults, nomad: NomadServer
) -> None:
    """The job is deleted after the last read and before the write."""
    nomad.register(service("vanished"))
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
