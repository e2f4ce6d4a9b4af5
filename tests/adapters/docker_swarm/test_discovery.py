"""Autoscalers in the labels of services: what an engine's answers say of them, and a daemon that follows a real one."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import pytest

from adapters.docker_swarm import DockerSwarm
from autoscaler.errors import TargetError, TargetNotFound, TargetUnavailable
from autoscaler.model import TargetRef
from autoscaler.target import AutoscalerBody
from tests.adapters.docker_swarm.build import Connect, call
from tests.adapters.docker_swarm.samples import service
from tests.servers.docker import Engine, wait_for
from tests.servers.faults import Fault, Faults, running_faults, says

BODY: Final = "{maxReplicas: 3, metrics: []}"
GONE: Final = '{"message": "service web not found"}'


def ref(name: str) -> TargetRef:
    """Return a service of the connection that the contract's contexts name."""
    return TargetRef("test", name)


@pytest.fixture
def front() -> Iterator[Faults]:
    """An engine with a version. A test says what it lists."""
    with running_faults() as faults:
        faults.faults.append(says("/version$", {"ApiVersion": "1.41"}))
        yield faults


def labelled(name: str, labels: Any) -> dict[str, Any]:
    return service(name, Spec={**service(name)["Spec"], "Labels": labels})


def found(front: Faults, connect: Connect, known: Collection[str] = ()) -> Mapping[str, Any]:
    """Return name of a service -> its autoscaler or error."""
    swarm = connect(front.url.replace("http:", "tcp:"))
    answer = swarm.discover([], [ref(name) for name in known], call())
    assert answer.failures == {}
    return {target.name: policy for target, policy in answer.policies.items()}


def test_a_round_without_removals_is_one_request(front: Faults, connect: Connect) -> None:
    """However many services there are. Those without a label are not discovered."""
    many = [labelled(f"web-{number}", {"autoscaler": BODY}) for number in range(1_000)]
    front.faults.append(says(r"/services\?", [*many, labelled("plain", {}), labelled("none", None)]))
    known = [f"web-{number}" for number in range(1_000)]
    assert found(front, connect, known) == dict.fromkeys(known, AutoscalerBody(BODY))
    assert front.count("/services") == 1


@pytest.mark.parametrize("odd", [{"Labels": 3}, {"Labels": {"autoscaler": 3}}, {"Labels": {"autoscaler.max": None}}])
def test_an_odd_service_fails_alone(front: Faults, connect: Connect, odd: Any) -> None:
    """Nothing new is known of it, and its neighbour is."""
    spec = {**service("odd")["Spec"], **odd}
    listed = [{"Spec": None}, {}, service("odd", Spec=spec), labelled("web", {"autoscaler": BODY})]
    front.faults.append(says(r"/services\?", listed))
    answer = found(front, connect)
    assert answer.keys() == {"odd", "web"}
    assert isinstance(answer["odd"], TargetUnavailable)
    assert answer["web"] == AutoscalerBody(BODY)


@pytest.mark.parametrize("listed", [[], [labelled("web", {})]])
def test_absence_is_confirmed_for_each_service(front: Faults, connect: Connect, listed: Any) -> None:
    """A list without it, or without its label, lets nothing go."""
    front.faults += [says(r"/services\?", listed), says("/services/web$", labelled("web", {"autoscaler": BODY}))]
    assert found(front, connect, ["web"]) == {"web": AutoscalerBody(BODY)}


def test_a_service_without_its_labels_is_let_go(front: Faults, connect: Connect) -> None:
    """As the engine says of it alone."""
    front.faults += [says(r"/services\?", [service("web")]), says("/services/web$", service("web"))]
    assert isinstance(found(front, connect, ["web"])["web"], TargetNotFound)


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (404, GONE, TargetNotFound),
        (404, "404 page not found", TargetUnavailable),
        (500, GONE, TargetUnavailable),
        (403, "no", TargetError),
    ],
)
def test_only_the_engines_own_text_says_that_a_service_is_gone(
    front: Faults, connect: Connect, status: int, text: str, kind: type[TargetError]
) -> None:
    """A proxy may answer 404 for other reasons."""
    front.faults += [says(r"/services\?", [service("other")]), Fault("/services/web$", status, text)]
    assert type(found(front, connect, ["web"])["web"]) is kind or kind is TargetError


@pytest.mark.parametrize("fault", [Fault(r"/services\?", 503, "no leader"), Fault(r"/services\?", 200, "{}")])
def test_an_engine_without_a_list_says_nothing(front: Faults, connect: Connect, fault: Fault) -> None:
    """The daemon then keeps all that it knows."""
    front.faults.append(fault)
    with pytest.raises(TargetUnavailable):
        found(front, connect, ["web"])


def set_labels(engine: Engine, name: str, labels: Mapping[str, str]) -> None:
    """Replace all labels of a service, as a deployment of its stack would."""

    def sent() -> bool:
        found = engine.client.inspect_service(name)
        url = f"{engine.client.base_url}/v{engine.client.api_version}/services/{found['ID']}/update"
        spec = {**found["Spec"], "Labels": dict(labels)}
        answer = engine.client.post(url, params={"version": found["Version"]["Index"]}, json=spec)
        assert answer.ok or "out of sequence" in answer.text, answer.text
        return bool(answer.ok)

    wait_for(sent, f"other labels of {name}")  # the engine itself may be faster


@pytest.mark.slow
def test_a_real_engine_says_that_a_service_is_gone(swarm: DockerSwarm, engine: Engine) -> None:
    """In the words that an adapter may rely on. A service cannot be renamed: another one takes its place."""
    with engine.service("before", Labels={"autoscaler": BODY}):
        assert swarm.discover([], [], call()).policies == {ref("before"): AutoscalerBody(BODY)}
        set_labels(engine, "before", {"other": "label"})
        assert isinstance(alone(swarm, "before"), TargetNotFound)
    with engine.service("after", Labels={"autoscaler": BODY}):
        known: Mapping[TargetRef, Any] = swarm.discover([], [ref("before")], call()).policies
        assert isinstance(known[ref("before")], TargetNotFound)
        assert known[ref("after")] == AutoscalerBody(BODY)


def alone(swarm: DockerSwarm, name: str) -> Any:
    return swarm.discover([], [ref(name)], call()).policies[ref(name)]
