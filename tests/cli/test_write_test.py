"""`autoscaler check --live --write-test`: with the least rights it passes; without one of them it names that right."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from typer.testing import CliRunner

from autoscaler.cli import live
from autoscaler.cli.app import app
from autoscaler.clock import SystemClock
from autoscaler.config.loader import load
from autoscaler.target.contract import RecordingLogger
from tests.cli.checking import run
from tests.cli.write_tested import said, write_tested, wrong
from tests.daemon.running import autoscaler, write_config
from tests.replaced import replace
from tests.servers.docker import Engine, running_engine
from tests.servers.faults import Fault, running_faults
from tests.servers.nomad import NomadServer, running_nomad, service

pytestmark = pytest.mark.slow
_DOCS: Final = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def _state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A state folder of the test's own."""
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))


@pytest.fixture(scope="module")
def nomad(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NomadServer]:
    """A real agent that requires tokens."""
    with running_nomad(tmp_path_factory.mktemp("nomad"), acl=True) as server:
        server.register(service("web"))
        server.register(service("other"))
        yield server


def documented(page: str, language: str) -> str:
    """The first block of this language on a page of the documentation."""
    found, *_ = re.findall(rf"```{language}\n(.*?)```", (_DOCS / page).read_text(), re.DOTALL)
    return str(found)


def test_without_live_it_is_a_wrong_argument(tmp_path: Path) -> None:
    """The test is said, never implied, and what it needs is too."""
    config = write_config(tmp_path, "http://127.0.0.1:1", [autoscaler("web", "vector(3)")])
    done = CliRunner().invoke(app, ["check", "--write-test", str(config)])
    assert done.exit_code == 2
    assert "needs --live" in done.stderr


def nomad_config(
    folder: Path, prometheus: str, nomad: NomadServer, policy: str, adapters: Mapping[str, Any] | None = None
) -> Path:
    """One autoscaler on the job `web`, whose connection has a token under this policy."""
    nomad.ask("POST", "/v1/acl/policy/tested", {"Name": "tested", "Rules": policy})
    token = nomad.ask("POST", "/v1/acl/token", {"Name": "tested", "Type": "client", "Policies": ["tested"]})
    (folder / "token").write_text(token["SecretID"])
    section = {"type": "nomad", "address": nomad.url, "tokenFile": str(folder / "token")}
    scaler = autoscaler("web", "vector(1)", "nomad")
    scaler["scaleTargetRef"]["name"] = "web/work"
    return write_config(folder, prometheus, [scaler], {"nomad": section, **(adapters or {})})


def scaling_events(nomad: NomadServer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] | None = nomad.ask("GET", "/v1/job/web/scale")["TaskGroups"]["work"]["Events"]
    return found or []


def test_the_least_acl_policy_of_nomad_passes(tmp_path: Path, prometheus: str, nomad: NomadServer) -> None:
    """The job is untouched; its group has one scaling event more, without a count."""
    config = nomad_config(tmp_path, prometheus, nomad, documented("nomad.md", "hcl"))
    before, recorded = nomad.ask("GET", "/v1/job/web"), scaling_events(nomad)
    found = write_tested(config)
    assert not found.wrong, wrong(found)
    assert said(found) == "permitted: Nomad recorded a scaling event without a count; the count is unchanged"
    assert nomad.ask("GET", "/v1/job/web") == before
    (event,) = [event for event in scaling_events(nomad) if event not in recorded]
    assert (event["Count"], event["Error"]) == (None, False)
    assert "--write-test" in event["Message"]


def test_the_exit_code_says_whether_the_daemon_may_scale(tmp_path: Path, prometheus: str, nomad: NomadServer) -> None:
    """A script that installs a daemon goes by it."""
    least = documented("nomad.md", "hcl")
    for policy, code, label in ((least, 0, "ok"), (least.replace("scale-job", "read-logs"), 1, "would not work")):
        config = nomad_config(tmp_path, prometheus, nomad, policy)
        found, out = run("check", "--live", "--write-test", config)
        assert found == code, out
        assert f"\nweb on nomad/web/work: {label}\n" in out


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (Fault("POST", delay_seconds=3600), "no whole answer by the cycle's deadline"),
        (Fault("POST", 200, "<html>", "text/html"), "is this address an agent's?"),
        (Fault("POST", 200, "{}", "application/json"), "is not understood"),
        (Fault("POST", 500, "no leader"), "no leader"),
    ],
    ids=["hangs", "no JSON", "another server", "an error"],
)
def test_a_back_end_without_an_answer_affects_only_its_own_line(
    tmp_path: Path, prometheus: str, nomad: NomadServer, fault: Fault, text: str
) -> None:
    """It does not count as permission. A neighbour on another connection to the same agent is still tested."""
    with running_faults(nomad.url) as proxy:
        proxy.faults.append(replace(fault, times=None))
        token = str(tmp_path / "token")
        behind = {"type": "nomad", "address": proxy.url, "tokenFile": token}
        config = nomad_config(tmp_path, prometheus, nomad, documented("nomad.md", "hcl"), {"behind": behind})
        document = yaml.safe_load(config.read_text())
        (scaler,) = document["autoscalers"]
        other = {"adapter": "behind", "name": "other/work"}
        document["autoscalers"].insert(0, {**scaler, "name": "other", "scaleTargetRef": other})
        config.write_text(yaml.safe_dump(document))
        *_, disturbed, quiet = live.examine(load(config), SystemClock(), RecordingLogger(), write_test=True, seconds=15)
    assert said(quiet).startswith("permitted: ")
    assert said(disturbed).startswith("the test has no result: ")
    assert text in wrong(disturbed)


@pytest.mark.parametrize("capability", ["list-jobs", "read-job", "scale-job"])
def test_each_capability_that_a_nomad_token_lacks_is_named(
    tmp_path: Path, prometheus: str, nomad: NomadServer, capability: str
) -> None:
    """The operator copies the name into the policy."""
    less = documented("nomad.md", "hcl").replace(f'"{capability}"', '"read-logs"')
    found = write_tested(nomad_config(tmp_path, prometheus, nomad, less))
    assert f"the ACL token needs the capability {capability} in the target's namespace" in wrong(found)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """A real engine with the service `web`."""
    with running_engine() as running, running.service("web"):
        yield running


def swarm_requests() -> list[str]:
    """The requests that a proxy before an engine must pass, as the documentation lists them."""
    listed = re.findall(r"\b(GET|POST) +(/\S+)", (_DOCS / "docker-swarm.md").read_text())
    return [f"{method} {path}" for method, path in listed]


def pattern_of(requests: list[str]) -> str:
    """Matches these requests, with or without parameters."""
    paths = "|".join(re.sub(r"\\\*|NAME|ID", "[^/?]+", re.escape(request)) for request in requests)
    return rf"(?:{paths})(?:\?|$)"


def all_but(requests: list[str]) -> Fault:
    """A proxy's refusal of all other requests."""
    return Fault(f"^(?!{pattern_of(requests)})", 403, "not allowed here")


def swarm_config(folder: Path, prometheus: str, url: str) -> Path:
    section = {"type": "docker-swarm", "host": url.replace("http:", "tcp:")}
    return write_config(folder, prometheus, [autoscaler("web", "vector(1)", "swarm")], {"swarm": section})


@pytest.mark.parametrize("part", ["for scaling", "for drains"])
def test_the_right_to_drain_nodes_is_tested_on_its_connection(
    tmp_path: Path, prometheus: str, nomad: NomadServer, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """An Auto Scaling group, which is not reached here, has its instances drained as Nomad nodes."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ours")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "ours")
    scaling, further = re.findall(r"```hcl\n(.*?)```", (_DOCS / "nomad.md").read_text(), re.DOTALL)
    fleet = {"type": "aws-asg", "region": "eu-west-1", "endpointUrl": "http://127.0.0.1:1"}
    config = nomad_config(
        tmp_path, prometheus, nomad, scaling + (further if part == "for drains" else ""), {"fleet": fleet}
    )
    document = yaml.safe_load(config.read_text())
    document["autoscalers"].append(autoscaler("group", "vector(1)", "fleet", drain={"nomad": {"adapter": "nomad"}}))
    config.write_text(yaml.safe_dump(document))
    before = nomad.drains()
    blocks = live.examine(load(config), SystemClock(), RecordingLogger(), write_test=True)
    (line,) = [one for block in blocks for one in block.lines if one.label == "drains by nomad"]
    assert line.wrong is (part == "for scaling")
    assert ("node:write" if line.wrong else "permitted") in line.text
    assert nomad.drains() == before


def test_the_documented_requests_to_a_docker_engine_pass(tmp_path: Path, prometheus: str, engine: Engine) -> None:
    """The service keeps its spec, its version and its tasks."""
    before = engine.client.inspect_service("web"), engine.wait_running("web", 1)
    with running_faults(engine.host) as proxy:
        proxy.faults.append(all_but(swarm_requests()))
        found = write_tested(swarm_config(tmp_path, prometheus, proxy.url))
        assert proxy.count("^POST") == 1
    assert not found.wrong, wrong(found)
    assert said(found) == "permitted: the engine refused an update only for its version, which was wrong on purpose"
    assert (engine.client.inspect_service("web"), engine.running("web")) == before


@pytest.mark.parametrize("request_", swarm_requests())
def test_each_request_that_a_proxy_before_the_engine_refuses_is_named(
    tmp_path: Path, prometheus: str, engine: Engine, request_: str
) -> None:
    """The operator adds it to the proxy's rules."""
    with running_faults(engine.host) as proxy:
        proxy.faults.append(all_but([one for one in swarm_requests() if one != request_]))
        found = write_tested(swarm_config(tmp_path, prometheus, proxy.url))
    (named,) = re.findall(r"a proxy must pass (\S+ [^\s;]+)", wrong(found))
    assert re.match(pattern_of([request_]), named)


def test_a_pool_of_processes_needs_no_permission(tmp_path: Path, prometheus: str) -> None:
    """The line says so, since silence would look like a test."""
    found = write_tested(write_config(tmp_path, prometheus, [autoscaler("web", "vector(1)")]))
    assert not found.wrong, wrong(found)
    assert said(found) == "not needed: the daemon itself starts and ends the workers, with the rights of its own user"
