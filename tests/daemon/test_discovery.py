"""A daemon on a real Nomad scales by the policies in its jobs, as far as grants include them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.adapters.nomad.harness import with_policy
from tests.daemon.running import RunningDaemon, running_daemon
from tests.servers.exporter import running_exporter
from tests.servers.faults import Fault, running_faults
from tests.servers.nomad import NOWHERE, NomadServer, running_nomad
from tests.servers.prometheus import running_prometheus, static

pytestmark = pytest.mark.slow
GRANT: Final[Mapping[str, Any]] = {
    "namePrefix": "default.",
    "maxReplicas": 20,
    "labels": {"team": "ours"},
    "adapters": ["nomad"],
    "namespaces": ["default"],
    "targets": ["*"],
    "sources": ["default"],
    "maxQueries": 50,
}
POLICY: Final = "/v1/scaling/polic"


@pytest.fixture(scope="module")
def nomad(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NomadServer]:
    with running_nomad(tmp_path_factory.mktemp("nomad")) as server:
        yield server


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Every policy's query asks for 30 instances."""
    with (
        running_exporter({"load": 30}) as exporter,
        running_prometheus(tmp_path_factory.mktemp("prometheus"), [static("load", exporter.address)]) as server,
    ):
        yield server.url


@contextmanager
def discovering(
    folder: Path, address: str, prometheus: str, *, live: bool = True, **more: Any
) -> Iterator[RunningDaemon]:
    """Run a daemon that discovers the policies of the namespace `default`."""
    file = folder / "autoscaler.yaml"
    file.write_text(yaml.safe_dump(configuration(address, prometheus, live=live, **more)))
    with running_daemon(file) as daemon:
        yield daemon


def configuration(address: str, prometheus: str, *, live: bool = True, **more: Any) -> dict[str, Any]:
    return {
        "controller": {"syncPeriod": "1s"},
        "prometheus": {"default": {"url": prometheus}},
        "adapters": {
            "nomad": {"type": "nomad", "address": address, "discover": {"policies": True, "live": live}},
        },
        "grants": {"ours": GRANT},
        "autoscalers": [],
        **more,
    }


def found(daemon: RunningDaemon) -> Mapping[str, Any]:
    """Return NAMESPACE/NAME of a policy -> what became of it."""
    policies = daemon.get("/api/v1/status/discovered").json()["data"]["policies"]
    return {each["target"].removeprefix("nomad/"): each for each in policies}


def until_found(daemon: RunningDaemon, *names: str) -> Mapping[str, Any]:
    """Return what was found once it includes these jobs of the namespace `default`."""
    wanted = {f"default/{name}/work" for name in names}
    daemon.until(lambda: wanted <= found(daemon).keys(), f"policies of {names}")
    return found(daemon)


def count_of(nomad: NomadServer, job: str) -> int:
    count: int = nomad.ask("GET", f"/v1/job/{job}")["TaskGroups"][0]["Count"]
    return count


def sized(job: str, count: int = 1) -> dict[str, Any]:
    """Return a job with a policy, and with instances that no node takes."""
    made = with_policy(job)
    check = {"source": "prometheus", "query": "load", "strategy": [{"pass-through": [{}]}]}
    made["TaskGroups"][0]["Scaling"]["Policy"] = {"check": [{"load": [check]}]}
    made["TaskGroups"][0] |= {"Count": count, "Constraints": NOWHERE}
    return made


def test_a_discovered_autoscaler_is_a_dry_run_until_live(nomad: NomadServer, prometheus: str, tmp_path: Path) -> None:
    """It decides and writes nothing; then `live: true` and a reload let it write, up to the maximum of its block."""
    nomad.register(sized("dry"))
    with discovering(tmp_path, nomad.url, prometheus, live=False) as daemon:
        until_found(daemon, "dry")
        line = daemon.wait_for("decision", autoscaler="default.dry.work")
        assert line["dry_run"]
        assert count_of(nomad, "dry") == 1
        daemon.config.write_text(yaml.safe_dump(configuration(nomad.url, prometheus)))
        assert daemon.post("/-/reload").status_code == 200
        nomad.wait(lambda: count_of(nomad, "dry") == 9, "a count of 9")
        policy = found(daemon)["default/dry/work"]
        assert (policy["autoscaler"], policy["dryRun"], policy["refused"]) == ("default.dry.work", False, None)
        summary = daemon.get("/api/v1/autoscalers/default.dry.work").json()["data"]["summary"]
        assert summary["labels"] == {"team": "ours"}


def test_a_back_end_that_does_not_tell_its_policies_is_a_problem(
    nomad: NomadServer, prometheus: str, tmp_path: Path
) -> None:
    """The daemon goes on with what it knows, and an operator must learn why nothing new comes."""
    nomad.register(sized("known"))
    with running_faults(nomad.url) as proxy, discovering(tmp_path, proxy.url, prometheus) as daemon:
        until_found(daemon, "known")
        proxy.faults.append(Fault(POLICY, 403, "Permission denied"))
        look_again(daemon)
        status = daemon.get("/api/v1/status/daemon").json()["data"]
        (problem,) = [each for each in status["problems"] if each.startswith("connection ")]
        known = "not all of its autoscalers could be discovered; those known stay in force"
        assert problem.startswith(f"connection nomad: {known}: default: ")
        (connection,) = daemon.get("/api/v1/status/discovered").json()["data"]["connections"]
        assert "HTTP 403" in connection["failures"][0]
        assert 'autoscaler_discovery_failures{adapter="nomad"} 1.0' in daemon.metrics()


def look_again(daemon: RunningDaemon) -> None:
    """Reload the configuration, and wait until a look that began afterwards has ended."""
    for _ in range(2):  # the first one may have begun before
        before = _last_look(daemon)
        assert daemon.post("/-/reload").status_code == 200
        daemon.until(lambda before=before: _last_look(daemon) != before, "a look")  # type: ignore[misc]  # bound now


def _last_look(daemon: RunningDaemon) -> str:
    (connection,) = daemon.get("/api/v1/status/discovered").json()["data"]["connections"]
    at: str = connection["at"]
    return at
