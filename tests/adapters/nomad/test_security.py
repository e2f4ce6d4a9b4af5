"""TLS with client certificates, and ACL, on an agent that requires both."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from autoscaler.errors import TargetForbidden, TargetUnavailable
from autoscaler.model import TargetState, Written
from autoscaler.target import NodeDrain
from autoscaler.target.contract import AdapterContract
from tests.adapters.nomad.conftest import Connect, LiveAdapter
from tests.adapters.nomad.harness import NomadHarness, documented_policy, prepare, with_policy
from tests.servers.nomad import NomadServer, running_nomad, unplaced

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class Secured:
    """An agent with TLS and ACL, and a client's settings for it."""

    server: NomadServer
    folder: Path

    @property
    def tls(self) -> dict[str, str]:
        files = {"caFile": "nomad-agent-ca", "certFile": "global-cli-nomad", "keyFile": "global-cli-nomad-key"}
        return {key: str(self.server.folder / f"{name}.pem") for key, name in files.items()}

    def token(self, name: str, policy: str) -> Path:
        """Return a file with a token under this policy."""
        self.server.ask("POST", f"/v1/acl/policy/{name}", {"Name": name, "Rules": policy})
        token = self.server.ask("POST", "/v1/acl/token", {"Name": name, "Type": "client", "Policies": [name]})
        file = self.folder / f"{name}.token"
        file.write_text(f"{token['SecretID']}\n")
        return file

    def settings(self, token: Path) -> dict[str, Any]:
        return {"address": self.server.url, "tokenFile": str(token), "tls": self.tls}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with running_nomad(tmp_path_factory.mktemp("secured"), acl=True, tls=True) as server:
        prepare(server)
        server.register(unplaced("safe"))
        yield Secured(server, tmp_path_factory.mktemp("tokens"))


@pytest.fixture(scope="module")
def least(secured: Secured) -> Path:
    """A token under the documented policy."""
    return secured.token("least", documented_policy())


class TestNomadUnderTheLeastPolicy(AdapterContract):
    """The adapter keeps the contract with only the documented rights. The suite is too slow to run without ACL, too."""

    @pytest.fixture
    def harness(self, secured: Secured, least: Path, tmp_path: Path, connect: Connect) -> Iterator[NomadHarness]:
        harness = NomadHarness(secured.server, tmp_path / "state", secured.settings(least))
        yield harness
        harness.close()


def test_the_policy_for_scaling_may_not_drain(connect: Connect, secured: Secured, least: Path) -> None:
    """The message names the right that drains need."""
    connection = connect(**secured.settings(least))
    with pytest.raises(TargetForbidden, match=r"node:write.*docs/nomad\.md"):
        connection.adapter.drain_node("i-0a", {"10.0.0.1"}, timedelta(minutes=1), connection.call())
    with pytest.raises(TargetForbidden, match=r"node:write.*docs/nomad\.md"):
        connection.adapter.try_drain(connection.call())


def test_reading_nodes_is_not_enough_for_a_drain(connect: Connect, secured: Secured) -> None:
    """A drain's first requests only read, so the test of its right is a write."""
    token = secured.token("node-read", documented_policy(drains=True).replace('"write"', '"read"'))
    connection = connect(**secured.settings(token))
    assert connection.adapter.drain_node("i-0a", {"10.0.0.1"}, timedelta(minutes=1), connection.call()) is (
        NodeDrain.NO_NODE
    )
    with pytest.raises(TargetForbidden, match="node:write"):
        connection.adapter.try_drain(connection.call())


def test_the_right_to_drain_is_tested_without_a_drain(connect: Connect, secured: Secured) -> None:
    """Under the documented policy. Nomad checks the right before it looks for the node, of which there is none."""
    before = secured.server.drains()
    connection = connect(**secured.settings(secured.token("drains", documented_policy(drains=True))))
    assert connection.adapter.try_drain(connection.call()).startswith("permitted")
    assert secured.server.drains() == before


def test_a_rotated_token_is_taken_up(connect: Connect, secured: Secured, least: Path) -> None:
    """Credentials change while the daemon runs."""
    file = secured.folder / "rotated.token"
    file.write_text("00000000-0000-0000-0000-000000000000")
    connection = connect(**secured.settings(file))
    refused = connection.look("safe/work")
    assert isinstance(refused, TargetForbidden)
    assert "00000000" not in str(refused)
    file.write_text(least.read_text())
    assert isinstance(connection.look("safe/work"), TargetState)


def test_no_token_is_forbidden(connect: Connect, secured: Secured) -> None:
    """The message names the documentation with the remedy."""
    refused = connect(address=secured.server.url, tls=secured.tls).look("safe/work")
    assert isinstance(refused, TargetForbidden)
    assert "docs/nomad.md" in str(refused)


def test_a_token_file_that_vanished_is_forbidden(connect: Connect, secured: Secured, least: Path) -> None:
    """It is neither a crash nor a request without credentials."""
    file = secured.folder / "vanishing.token"
    file.write_text(least.read_text())
    connection = connect(**secured.settings(file))
    file.unlink()
    refused = connection.look("safe/work")
    assert isinstance(refused, TargetForbidden)
    assert str(file) in str(refused)


def test_a_token_file_with_more_than_a_token_is_never_quoted(connect: Connect, secured: Secured, least: Path) -> None:
    """The HTTP library would quote an invalid header in its message."""
    file = secured.folder / "odd.token"
    secret = least.read_text().strip()
    file.write_text(f"{secret}\n{secret}")
    refused = connect(**secured.settings(file)).look("safe/work")
    assert isinstance(refused, TargetForbidden)
    assert secret not in str(refused)


def test_another_namespace_is_not_found_under_the_policy(connect: Connect, secured: Secured, least: Path) -> None:
    """For a token, targets that it may not read do not exist. Other targets continue."""
    secured.server.ask("POST", "/v1/namespace/secret", {"Name": "secret"})
    connection = connect(**secured.settings(least))
    here, there = connection.ref("safe/work"), connection.ref("safe/work", namespace="secret")
    answer = connection.adapter.observe([here, there], connection.call())
    assert isinstance(answer[here], TargetState)
    assert "may not read it" in str(answer[there])


def _without(secured: Secured, *keys: str) -> dict[str, str]:
    return {key: file for key, file in secured.tls.items() if key not in keys}


def test_an_unknown_authority_is_unavailable(connect: Connect, secured: Secured, least: Path) -> None:
    """The message names the certificate."""
    settings = {**secured.settings(least), "tls": _without(secured, "caFile")}
    refused = connect(**settings).look("safe/work")
    assert isinstance(refused, TargetUnavailable)
    assert "its certificate is not accepted" in str(refused)
    assert "caFile" in str(refused)


def test_skipped_verification_is_warned_of(connect: Connect, secured: Secured, least: Path) -> None:
    """It works, and the log warns once."""
    unchecked = {**_without(secured, "caFile"), "insecureSkipVerify": True}
    connection = connect(**{**secured.settings(least), "tls": unchecked})
    assert isinstance(connection.look("safe/work"), TargetState)
    assert [event for level, event, _ in connection.logger.lines if level == "warning"] == ["nomad_tls_not_verified"]


def test_the_environment_is_enough(
    connect: Connect, secured: Secured, least: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine on which the `nomad` command works needs no more settings."""
    monkeypatch.setenv("NOMAD_TOKEN", least.read_text().strip())
    for variable, value in secured.server.environment.items():
        if variable != "NOMAD_TOKEN":
            monkeypatch.setenv(variable, value)
    connection: LiveAdapter = connect()
    seen = connection.state("safe/work")
    assert connection.scale("safe/work", seen, seen.replicas + 1) == Written(seen.replicas + 1)


def test_the_least_policy_discovers_policies(connect: Connect, secured: Secured, least: Path) -> None:
    """Nomad asks for no capability beyond those that scaling needs."""
    secured.server.register(with_policy("discovered"))
    connection = connect(**secured.settings(least))
    found = connection.adapter.discover(["default"], [], connection.call())
    policy = found.policies[connection.ref("discovered/work", namespace="default", parts=("discovered", "work"))]
    assert isinstance(policy, dict)
    assert policy["Policy"]["check"]


@pytest.mark.parametrize("left_out", ["list-jobs", "read-job"])
def test_a_namespace_without_the_rights_is_a_failure(connect: Connect, secured: Secured, left_out: str) -> None:
    """Nothing is said of its targets then, so none of them is let go."""
    less = documented_policy().replace(f'"{left_out}"', '"read-logs"')
    connection = connect(**secured.settings(secured.token(f"undiscovered-{left_out}", less)))
    known = connection.ref("discovered/work", namespace="default", parts=("discovered", "work"))
    found = connection.adapter.discover(["default"], [known], connection.call())
    assert found.policies == {}
    assert isinstance(found.failures["default"], TargetForbidden)


def test_rights_that_are_taken_away_let_no_target_go(connect: Connect, secured: Secured, least: Path) -> None:
    """For the namespace `*`, Nomad would answer with an empty list, as if no job had a policy."""
    secured.server.register(with_policy("remembered"))
    file = secured.folder / "taken.token"
    file.write_text(least.read_text())
    connection = connect(**secured.settings(file))
    known = connection.ref("remembered/work", namespace="default", parts=("remembered", "work"))
    assert known in connection.adapter.discover(["default"], [], connection.call()).policies
    file.write_text(secured.token("nothing", 'node { policy = "read" }').read_text())
    found = connection.adapter.discover(["default"], [known], connection.call())
    assert found.policies == {}
    assert isinstance(found.failures["default"], TargetForbidden)
    reply = secured.server.client.get(
        f"{secured.server.url}/v1/scaling/policies?namespace=*", headers={"X-Nomad-Token": file.read_text().strip()}
    )
    assert (reply.status_code, reply.json()) == (200, [])


def test_a_namespace_fails_alone(connect: Connect, secured: Secured, least: Path) -> None:
    """The token may read one of two namespaces."""
    secured.server.ask("POST", "/v1/namespace/closed", {"Name": "closed"})
    secured.server.register(with_policy("open"))
    connection = connect(**secured.settings(least))
    found = connection.adapter.discover(["closed", "default"], [], connection.call())
    assert found.failures.keys() == {"closed"}
    assert connection.ref("open/work", namespace="default", parts=("open", "work")) in found.policies
