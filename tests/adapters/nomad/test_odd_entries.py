"""One entry of a list is not what Nomad documents, or cannot be read. It costs its own job alone.

A server imitates the answers of Nomad 1.11, of which one is wrong.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from adapters.nomad.jobs import parse_job
from autoscaler.errors import TargetError, TargetForbidden, TargetUnavailable
from autoscaler.model import TargetState
from autoscaler.target import TargetRef
from tests.adapters.nomad.conftest import Connect, LiveAdapter
from tests.adapters.nomad.samples import allocation, deployment, job, listed_job, long_allocation
from tests.servers.faults import Fault, Faults, running_faults, says

Found = dict[str, TargetState | TargetError]
NEIGHBOURS = ("well", "idle")


def _size(name: str) -> int:
    return 0 if name == "idle" else 1


class Cluster:
    """The lists of an agent, which a test changes, and what an adapter finds."""

    def __init__(self, faults: Faults, adapter: LiveAdapter) -> None:
        self._faults = faults
        self._live = adapter
        self.lists: dict[str, list[Any]] = {
            "/v1/jobs": [listed_job("odd"), *map(listed_job, NEIGHBOURS)],
            "/v1/deployments": [deployment("odd")],
            "/v1/allocations": [allocation("odd"), allocation("well")],
        }
        self.long = [long_allocation("odd"), long_allocation("well")]

    def observe(self, *before: Fault) -> Found:
        """Return what the adapter finds of the three jobs. `before`: answers that precede the usual ones."""
        answers: dict[str, Any] = {rf"/v1/allocation/{one['ID']}\?": one for one in self.long}
        answers |= {rf"/v1/job/{name}\?": job(name, _size(name)) for name in ("odd", *NEIGHBOURS)}
        answers |= {r"/v1/allocations\?.*task_states=true": self.long}
        answers |= {rf"{path}\?": entries for path, entries in self.lists.items()}
        self._faults.faults = [*before, *(says(path, answer) for path, answer in answers.items())]
        found = self._live.observe(*(f"{name}/work" for name in ("odd", *NEIGHBOURS)))
        return {name.partition("/")[0]: state for name, state in found.items()}


@pytest.fixture
def cluster(connect: Connect) -> Iterator[Cluster]:
    """Three jobs: `odd` and `well` with one allocation, `idle` without any."""
    with running_faults() as faults:
        yield Cluster(faults, connect(address=faults.url))


def _only_the_odd_one_failed(found: Found, kind: type[TargetError] = TargetUnavailable) -> None:
    assert isinstance(found["odd"], kind), found["odd"]
    for name in NEIGHBOURS:
        assert isinstance(found[name], TargetState), found[name]


def test_all_are_read_while_nothing_is_odd(cluster: Cluster) -> None:
    """The imitation is right, and the odd job's hold is seen."""
    found = cluster.observe()
    assert [state.replicas for state in found.values() if isinstance(state, TargetState)] == [1, 1, 0]
    assert isinstance(found["odd"], TargetState)
    assert found["odd"].hold.scale_in is not None
    assert len(found["odd"].instances) == 1


@pytest.mark.parametrize(
    ("status", "kind"), [(500, TargetUnavailable), (403, TargetForbidden), (429, TargetUnavailable)]
)
def test_an_allocation_that_cannot_be_read_fails_its_job_alone(
    cluster: Cluster, status: int, kind: type[TargetError]
) -> None:
    """The others of its region are scaled, in this cycle and in the next."""
    broken = Fault("/v1/allocation/odd-1", status, "rpc error")
    _only_the_odd_one_failed(cluster.observe(broken), kind)
    _only_the_odd_one_failed(cluster.observe(broken), kind)
    assert all(isinstance(state, TargetState) for state in cluster.observe().values())


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(
    "odd",
    [
        {"AllocatedResources": {"Tasks": {"web": {"Cpu": {}}}}},
        {"AllocatedResources": []},
        {"AllocatedResources": {"Shared": {"Ports": [{"HostIP": "10.0.0.1"}]}}},
        {"TaskStates": {"web": {"StartedAt": "yesterday", "State": "running"}}},
        {"TaskStates": {"web": None}},
        {"ModifyIndex": "nine"},
    ],
)
def test_an_odd_field_of_a_long_allocation_fails_its_job_alone(
    cluster: Cluster, odd: dict[str, Any], many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an answer of its own, and of the list that is read if many allocations have changed."""
    if many:
        monkeypatch.setattr("adapters.nomad.region._READ_ONE_BY_ONE", 0)
    cluster.long[0] |= odd
    _only_the_odd_one_failed(cluster.observe())


def test_a_long_list_that_fails_costs_only_the_jobs_that_have_changed(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The details of the others are known."""
    cluster.observe()
    monkeypatch.setattr("adapters.nomad.region._READ_ONE_BY_ONE", 0)
    cluster.lists["/v1/allocations"][0]["ModifyIndex"] = 10
    _only_the_odd_one_failed(cluster.observe(Fault("task_states=true", 500, "rpc error")))


@pytest.mark.parametrize(
    ("path", "odd"),
    [
        ("/v1/allocations", {"ModifyIndex": None}),
        ("/v1/allocations", {"ClientStatus": 3}),
        ("/v1/allocations", {"ClientStatus": "resting"}),
        ("/v1/allocations", {"DeploymentStatus": {"Healthy": True, "Timestamp": "yesterday"}}),
        ("/v1/allocations", {"JobID": None}),
        ("/v1/jobs", {"JobModifyIndex": "seven"}),
        ("/v1/jobs", {"JobSummary": {"Summary": {"work": {"Queued": "none"}}}}),
        ("/v1/jobs", {"ID": None}),
        ("/v1/deployments", {"Status": None}),
        ("/v1/deployments", {"CreateIndex": -0.5}),
    ],
)
def test_an_odd_entry_of_a_list_fails_its_job_alone(cluster: Cluster, path: str, odd: dict[str, Any]) -> None:
    """An entry that names no job may be that of any job of which the list has none."""
    cluster.lists[path][0] |= odd
    if path == "/v1/allocations" and "JobID" in odd:
        cluster.lists[path].append({**allocation("idle"), "DesiredStatus": "stop", "ID": "idle-1"})
        cluster.long.append({**long_allocation("idle"), "ID": "idle-1"})
    _only_the_odd_one_failed(cluster.observe())


@pytest.mark.parametrize("entry", [None, 3, [], {}, "odd"])
@pytest.mark.parametrize("path", ["/v1/allocations", "/v1/jobs", "/v1/deployments"])
def test_an_entry_that_is_no_object_leaves_the_other_jobs(cluster: Cluster, path: str, entry: object) -> None:
    """What it was cannot be known."""
    cluster.lists[path].append(entry)
    found = cluster.observe()
    assert isinstance(found["odd"], TargetState)
    assert isinstance(found["well"], TargetState)


def test_a_job_that_is_listed_twice_fails_alone(cluster: Cluster) -> None:
    """It cannot be told which entry is right."""
    cluster.lists["/v1/jobs"].append(listed_job("odd"))
    _only_the_odd_one_failed(cluster.observe())


@pytest.mark.parametrize(
    "odd",
    [
        {"ModifyIndex": None},
        {"ID": 3},
        {"Target": {"Namespace": "default", "Job": "odd", "Group": "work", "Region": 3}},
        {"Target": None},
        {"Target": {"Job": "odd", "Group": "work"}},
    ],
)
def test_an_odd_policy_leaves_the_others_discovered(cluster: Cluster, odd: dict[str, Any]) -> None:
    """The list of a namespace's policies has those of all teams."""

    def policy(name: str) -> dict[str, Any]:
        target = {"Namespace": "default", "Job": name, "Group": "work"}
        return {"ID": f"policy-{name}", "ModifyIndex": 3, "Target": target}

    cluster._faults.faults = [
        says("/v1/scaling/policy/policy-well", {**policy("well"), "Policy": {"cooldown": "1m"}}),
        says("/v1/scaling/policies", [{**policy("odd"), **odd}, policy("well")]),
        Fault("/v1/job/odd", 500, "rpc error"),
    ]
    adapter = cluster._live.adapter
    known = [TargetRef("test", "odd/work", "default")]
    found = adapter.discover(["default"], known, cluster._live.call())
    assert found.failures == {}
    states = {target.name: policy for target, policy in found.policies.items()}
    assert isinstance(states["odd/work"], TargetError)
    assert not isinstance(states["well/work"], TargetError)


@pytest.mark.parametrize(("count", "found"), [("1", "str"), (1.5, "float"), (True, "bool"), (None, "NoneType")])
def test_a_count_that_is_no_whole_number_is_named_by_its_type(count: object, found: str) -> None:
    with pytest.raises(TypeError, match=f"expected a whole number, found {found}"):
        parse_job(job("well", count))
