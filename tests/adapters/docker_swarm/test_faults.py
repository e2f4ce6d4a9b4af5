"""Faults of an engine, on a fake server. The other files use a real engine."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from adapters.docker_swarm import DockerSwarm
from autoscaler.errors import (
    TargetError,
    TargetForbidden,
    TargetNotFound,
    TargetNotWritten,
    TargetRefused,
    TargetUnavailable,
)
from autoscaler.model import Conflict, TargetState, Unchanged, Written
from tests.adapters.docker_swarm.build import Connect, call, change, ref, state_of
from tests.adapters.docker_swarm.samples import node, service, task
from tests.servers.faults import Fault, Faults, running_faults, says
from tests.servers.scripted import Wire, scripted

BUDGETS: Final = (0.5, 5, 50)
"""Seconds of a call that is to end while a request hangs: a busy machine needs more than the first to send it."""
OUT_OF_SEQUENCE = json.dumps({"message": "rpc error: code = Unknown desc = update out of sequence"})


@pytest.fixture
def front() -> Iterator[Faults]:
    """A service web with two tasks. A test's faults precede these answers."""
    with running_faults() as faults:
        faults.faults += [
            says("/version$", {"ApiVersion": "1.41"}),
            says(r"/services\?", [service(), service("other", 0, ID="another")]),
            says("/services/web$", service()),
            says("/tasks", [task(slot=1), task(slot=2)]),
            says("/nodes", [node()]),
            says("POST", {"Warnings": None}),
        ]
        yield faults


@pytest.fixture
def swarm(front: Faults, connect: Connect) -> DockerSwarm:
    return connect(front.url.replace("http:", "tcp:"))


def failing(swarm: DockerSwarm, seconds: float = 20) -> TargetError:
    """Return the error that observing raises."""
    with pytest.raises(TargetError) as caught:
        swarm.observe([ref("web")], call(seconds))
    return caught.value


def failing_write(swarm: DockerSwarm, seconds: float = 20) -> TargetError:
    """Return the error that scaling from 2 to 3 raises."""
    with pytest.raises(TargetError) as caught:
        swarm.scale(ref("web"), change(3, 2), call(seconds))
    return caught.value


def test_the_front_is_a_good_engine_when_nothing_is_wrong(swarm: DockerSwarm) -> None:
    """Otherwise the other tests here would also pass for a faulty fake."""
    assert state_of(swarm, "web").replicas == 2
    assert swarm.scale(ref("web"), change(3, 2), call()) == Written(3)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, TargetUnavailable),
        (401, TargetForbidden),
        (403, TargetForbidden),
        (404, TargetUnavailable),
        (408, TargetUnavailable),
        (429, TargetUnavailable),
        (500, TargetUnavailable),
        (503, TargetUnavailable),
    ],
)
@pytest.mark.parametrize("listing", [r"/services\?", "/tasks", "/nodes"])
def test_a_list_that_is_refused_concerns_all_and_says_why(
    front: Faults, swarm: DockerSwarm, status: int, expected: type[TargetError], listing: str
) -> None:
    """The error's class says whether a retry helps; its message has the engine's reason."""
    front.faults.insert(0, Fault(listing, status, '{"message": "because of this"}', "application/json"))
    error = failing(swarm)
    assert type(error) is expected
    assert str(error).startswith(f"{front.url.replace('http:', 'tcp:')}: list")
    assert f": HTTP {status}: because of this" in str(error)


@pytest.mark.parametrize(
    ("status", "expected", "certainty"),
    [
        (400, TargetRefused, "nothing was changed"),
        (401, TargetForbidden, "nothing was changed"),
        (403, TargetForbidden, "nothing was changed"),
        (404, TargetNotFound, "nothing was changed"),
        (429, TargetNotWritten, "nothing was changed"),
        (500, TargetUnavailable, "unknown until the next cycle"),
        (502, TargetUnavailable, "unknown until the next cycle"),
    ],
)
def test_a_write_that_is_refused_says_whether_anything_changed(
    front: Faults, swarm: DockerSwarm, status: int, expected: type[TargetError], certainty: str
) -> None:
    """An operator asks this first."""
    front.faults.insert(0, Fault("POST", status, "because of this"))
    error = failing_write(swarm)
    assert type(error) is expected
    assert "because of this" in str(error)
    assert certainty in str(error)
    assert front.count("POST") == 1


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"error": "no"}', '{"message": null}', "<html>", '"text"'])
def test_an_error_in_anothers_words_is_an_error_all_the_same(front: Faults, swarm: DockerSwarm, body: str) -> None:
    """A proxy's refusal has another form than an engine's; the SDK would raise a KeyError."""
    front.faults.insert(0, Fault("/services", 403, body, "application/json"))
    assert type(failing(swarm)) is TargetForbidden
    assert type(failing_write(swarm)) is TargetForbidden


@pytest.mark.parametrize("status", [409, 500])
def test_update_out_of_sequence_for_ever_is_a_conflict_after_five_writes(
    front: Faults, swarm: DockerSwarm, status: int
) -> None:
    """Retries read again and are bounded: a client that writes continuously wins."""
    front.faults.insert(0, Fault("POST", status, OUT_OF_SEQUENCE))
    assert isinstance(swarm.scale(ref("web"), change(3, 2), call()), Conflict)
    assert front.count("POST") == front.count("GET .*/services/web$") == 5


@pytest.mark.parametrize("body", ["<html>welcome</html>", "", '{"a": ', "NaN!"])
def test_a_reply_that_is_not_json_is_unavailable(front: Faults, swarm: DockerSwarm, body: str) -> None:
    """A login page at the address must not cause a traceback."""
    front.faults.insert(0, Fault("/services", 200, body))
    assert type(failing(swarm)) is TargetUnavailable
    assert "is not JSON" in str(failing_write(swarm))


@pytest.mark.parametrize("answer", [{}, None, [1], "text"])
def test_json_that_is_no_list_of_services_is_unavailable(front: Faults, swarm: DockerSwarm, answer: Any) -> None:
    """It is neither a missing target nor a crash: another server listens there."""
    front.faults.insert(0, says(r"/services\?", answer))
    assert type(failing(swarm)) is TargetUnavailable


@pytest.mark.parametrize("answer", [[{"Spec": {}}], [{"Spec": {"Name": ["web"]}}]])
def test_a_service_that_is_not_listed_beside_a_nameless_one_is_unavailable(
    front: Faults, swarm: DockerSwarm, answer: Any
) -> None:
    """The nameless one may be it, so it is no missing target."""
    front.faults.insert(0, says(r"/services\?", answer))
    assert type(swarm.observe([ref("web")], call())[ref("web")]) is TargetUnavailable


@pytest.mark.parametrize("answer", [{}, [], "1.41", {"ApiVersion": None}])
def test_an_engine_without_a_version_is_unavailable(front: Faults, swarm: DockerSwarm, answer: Any) -> None:
    """The first request is the likeliest to reach another server."""
    front.faults.insert(0, says("/version", answer))
    assert type(failing(swarm)) is TargetUnavailable


def test_an_engine_that_is_too_old_is_named(front: Faults, swarm: DockerSwarm) -> None:
    """It cannot count tasks; an update helps."""
    front.faults.insert(0, says("/version", {"ApiVersion": "1.40"}))
    assert "speaks Docker API 1.40; 1.41 or newer is needed" in str(failing(swarm))


def test_a_service_removed_between_two_lists_does_not_fail_the_others(front: Faults, swarm: DockerSwarm) -> None:
    """The engine answers 404 to the whole list of tasks when one of the requested services is gone."""
    gone = json.dumps({"message": "service another not found"})
    front.faults.insert(0, Fault("/tasks.*service%22", 404, gone, "application/json"))
    found = swarm.observe([ref("web"), ref("other")], call())
    web = found[ref("web")]
    assert isinstance(web, TargetState)
    assert len(web.instances) == 2
    assert isinstance(found[ref("other")], TargetState)


def test_very_many_services_are_not_looked_up_one_by_one(front: Faults, swarm: DockerSwarm) -> None:
    """A filter by service costs the engine a look-up for each; the list of all tasks costs one."""
    many = [service(f"s{number}", 0, ID=f"id-{number}") for number in range(101)]
    front.faults.insert(0, says(r"/services\?", many))
    swarm.observe([ref(each["Spec"]["Name"]) for each in many], call())
    assert front.count("/tasks") == 1
    assert front.count("/tasks.*service%22") == 0


def test_a_repeated_decision_whose_answer_was_lost_is_unchanged(front: Faults, swarm: DockerSwarm) -> None:
    """The write's outcome is unknown; the next attempt finds the size set."""
    front.faults.insert(0, Fault("POST", delay_seconds=600))
    for seconds in BUDGETS:
        error = failing_write(swarm, seconds)
        if front.count("POST"):
            break
    assert "no answer within the cycle's deadline; whether the size was set is unknown" in str(error)
    front.faults[0] = says("/services/web$", service(size=3))
    assert swarm.scale(ref("web"), change(3, 2), call()) == Unchanged()


@pytest.mark.parametrize("listing", ["/version", r"/services\?", "/tasks", "/nodes"])
def test_a_slow_server_is_unavailable_by_the_deadline(front: Faults, swarm: DockerSwarm, listing: str) -> None:
    """Whichever request hangs, the shard is free by the deadline."""
    front.faults.insert(0, Fault(listing, delay_seconds=600))
    for seconds in BUDGETS:
        error = failing(swarm, seconds)
        if front.count(listing):
            break
    assert "no answer within the cycle's deadline" in str(error)


def test_a_write_whose_connection_is_cut_is_not_known_to_have_failed(front: Faults, connect: Connect) -> None:
    """A reset after the request leaves its outcome unknown."""
    answers = {b"/version": {"ApiVersion": "1.41"}, b"/services/web ": service()}

    def cut(wire: Wire) -> None:
        while (request := wire.read()).startswith(b"GET"):
            wire.answer(json.dumps(next(body for path, body in answers.items() if path in request)).encode())

    with scripted(cut) as server:
        error = failing_write(connect(f"tcp://127.0.0.1:{server.port}"))
    assert type(error) is TargetUnavailable
    assert "closed the connection without an answer; whether the size was set is unknown" in str(error)


def test_a_socket_that_does_not_exist_says_what_to_check(connect: Connect, tmp_path: Path) -> None:
    """A common mistake at the first start."""
    error = failing(connect(f"unix://{tmp_path}/docker.sock"))
    assert type(error) is TargetUnavailable
    assert "the socket does not exist; is Docker running here, and the address right?" in str(error)


def test_after_an_outage_the_engine_may_be_another_one(front: Faults, swarm: DockerSwarm) -> None:
    """An update changes the engine's API versions; the adapter asks again instead of failing until a restart."""
    state_of(swarm, "web")
    front.faults.insert(0, Fault(r"/v1.41/services\?", 400, '{"message": "client version 1.41 is too old"}'))
    assert "too old" in str(failing(swarm))
    front.faults.insert(0, says("/version$", {"ApiVersion": "1.51"}))
    assert state_of(swarm, "web").replicas == 2
    assert front.count("/v1.51/services") == 1


def test_no_proxy_of_the_environment_stands_in_the_way(swarm: DockerSwarm, monkeypatch: pytest.MonkeyPatch) -> None:
    """The adapter reaches an engine directly, as the docker command line does."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert state_of(swarm, "web").replicas == 2


@pytest.mark.parametrize("status", [203, 206])
def test_a_list_that_a_proxy_changed_or_cut_is_unavailable(swarm: DockerSwarm, front: Faults, status: int) -> None:
    """The engine answers 200. Half of the tasks would look like instances that are gone."""
    front.faults.insert(0, Fault("/tasks", status, json.dumps([task(slot=1)]), "application/json"))
    assert f"HTTP {status}" in str(error := failing(swarm))
    assert isinstance(error, TargetUnavailable)
