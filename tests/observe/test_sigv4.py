"""Queries that are signed for Amazon Managed Service for Prometheus."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from autoscaler.config.authentication import SigV4
from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError
from autoscaler.observe.prometheus import Prometheus
from tests.observe.build import CLOCK, NOW, call
from tests.servers.guarded_sources import Workspace
from tests.servers.web import Answer, Request, answering

if TYPE_CHECKING:
    from tests.servers.aws import AwsServer

ROLE = "arn:aws:iam::123456789012:role/metrics"
EXPR = 'sum(rate(a{b=~"c+ d|é",e!="~*/"}[5m])) + 1'
SIGNED = SigV4("eu-west-1")
PATIENT = timedelta(seconds=60)
"""The first use of botocore takes seconds on a busy machine."""


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keys in the environment, and nothing of the machine's own."""
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKID",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)


def value(url: str, sigv4: SigV4 = SIGNED, expr: str = EXPR, **source: Any) -> float | None:
    client = Prometheus("main", PrometheusSource(url, PATIENT, sigv4=sigv4, **source), CLOCK)
    try:
        return client.query(expr, NOW, call(60).deadline).points[0].value
    finally:
        client.close()


def refusal(url: str, sigv4: SigV4 = SIGNED, expr: str = EXPR) -> str:
    with pytest.raises(MetricError) as caught:
        value(url, sigv4, expr)
    return str(caught.value)


def test_gets_and_posts_are_signed() -> None:
    """A long expression is in the body. Spaces, plus signs and letters beyond ASCII are encoded as AWS reads them."""
    workspace = Workspace()
    with answering(workspace.answer) as url:
        assert value(f"{url}/workspaces/ws-1", params={"a b": "c+d"}, headers={"X-Other": "1"}) == 7
        assert value(f"{url}/workspaces/ws-1", expr=EXPR + " " * 3000) == 7
    assert [each.method for each in workspace.requests] == ["GET", "POST"]
    assert [each.form["query"].strip() for each in workspace.requests] == [EXPR, EXPR]


def _other_query(request: Request) -> None:
    request.body = request.body.replace("sum", "max")
    request.target = request.target.replace("sum", "max")


@pytest.mark.parametrize("expr", [EXPR + " " * 3000, EXPR])
def test_a_request_that_was_changed_on_the_way_is_a_failed_query(expr: str) -> None:
    """The signature covers the URL and the body."""
    with answering(Workspace(tamper=_other_query).answer) as url:
        assert "answered HTTP 403 to" in (message := refusal(url, expr=expr))
        assert "InvalidSignatureException" in message


def test_a_wrong_region_is_a_failed_query_with_the_remedy() -> None:
    with answering(Workspace("us-east-1").answer) as url:
        message = refusal(url)
    assert message.startswith("prometheus 'main' answered HTTP 403 to GET with ")
    assert message.endswith(
        "not with a result: InvalidSignatureException; "
        f"check the region and the keys of sigv4, and their permission aps:QueryMetrics ({url})"
    )


@pytest.mark.parametrize(("ahead", "words"), [(10, "ahead of ours"), (-10, "behind ours")])
def test_a_clock_that_differs_is_named(ahead: int, words: str) -> None:
    """AWS refuses signatures that are more than five minutes old; with the region's message nobody finds the clock."""
    with answering(Workspace(ahead=timedelta(minutes=ahead)).answer) as url:
        assert re.search(rf"has a clock that is (9m5\ds|10m(\ds)?) {words} \(header Date\): check", refusal(url))


def test_unknown_keys_are_a_failed_query_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "geheim")
    with answering(Workspace(keys={"OTHER": ("secret", None)}).answer) as url:
        message = refusal(url)
    assert "UnrecognizedClientException" in message
    assert "geheim" not in message
    assert "AKID" not in message


def test_an_expired_session_token_is_a_failed_query() -> None:
    with answering(Workspace(keys={"AKID": ("secret", "newer")}).answer) as url:
        assert "ExpiredTokenException" in refusal(url)


def test_a_profile_is_used(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("[metrics]\naws_access_key_id = TEAM\naws_secret_access_key = other\n")
    with answering(Workspace(keys={"TEAM": ("other", None)}).answer) as url:
        assert value(url, SigV4("eu-west-1", profile="metrics")) == 7


def test_a_missing_profile_and_missing_keys_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The source is not asked without a signature."""
    workspace = Workspace()
    remedy = "give the daemon keys, by `profile`, the environment or the machine's role"
    with answering(workspace.answer) as url:
        message = refusal(url, SigV4("eu-west-1", profile="absent"))
        assert f"cannot be asked: sigv4: The config profile (absent) could not be found; {remedy}" in message
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
        assert f"cannot be asked: sigv4: Unable to locate credentials; {remedy}" in refusal(url)
    assert workspace.requests == []


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("geheim", "the keys cannot be read (JSONDecodeError)"),
        (
            '{"Version":1,"AccessKeyId":"A","SecretAccessKey":"geheim","Expiration":"2020-01-01T00:00:00Z"}',
            "Credentials were refreshed, but the refreshed credentials are still expired",
        ),
        (
            '{"Version":1,"AccessKeyId":"A","SecretAccessKey":"geheim","Expiration":"soon"}',
            "the keys cannot be read (ParserError)",
        ),
        (None, "No such file or directory: {program}"),
    ],
)
def test_a_program_that_gives_no_usable_keys_is_a_failed_query(tmp_path: Path, printed: str | None, said: str) -> None:
    """For the output of a `credential_process`, botocore raises errors of any type. None of them is a bug of ours."""
    program = tmp_path / "program"
    command = str(program)
    if printed is not None:
        program.write_text(f"echo '{printed}'\n")
        command = f"/bin/sh {program}"  # a program that a forked process still has open for writing cannot be run
    (tmp_path / "config").write_text(f"[profile {tmp_path.name}]\ncredential_process = {command}\n")
    message = refusal("http://127.0.0.1:1", SigV4("eu-west-1", profile=tmp_path.name))
    assert f"cannot be asked: sigv4: {said.format(program=program)}; give the daemon keys" in message
    assert "geheim" not in message


def test_an_answer_of_sts_that_is_not_its_own_is_a_failed_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a proxy's login page."""
    with answering(lambda _: Answer(200, {"geheim": "login"})) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
        message = refusal(url, SigV4("eu-west-1", role_arn=ROLE))
    assert "cannot be asked: sigv4: the keys cannot be read (ResponseParserError)" in message
    assert "geheim" not in message


def test_a_header_host_is_signed() -> None:
    """A private endpoint of AWS has a name of its own, and tells services by this header."""
    workspace = Workspace()
    with answering(workspace.answer) as url:
        assert value(url, headers={"Host": "aps-workspaces.eu-west-1.amazonaws.com"}) == 7


def _assumed() -> dict[str, tuple[str, str | None]]:
    """The keys that STS has given."""
    from moto.sts.models import sts_backends

    roles = [role for backend in sts_backends["123456789012"].values() for role in backend.assumed_roles]
    return {role.access_key_id: (role.secret_access_key, role.session_token) for role in roles}


@pytest.fixture
def sts(monkeypatch: pytest.MonkeyPatch) -> "Iterator[AwsServer]":
    """STS, with a role that requires an external id."""
    from tests.servers.aws import running_aws  # takes seconds, which the other tests do not need

    with running_aws() as server:
        server.roles[ROLE] = "customer-7"
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", server.url)
        yield server


@pytest.mark.slow
def test_a_role_is_assumed_once_and_its_session_token_is_signed(sts: "AwsServer") -> None:
    workspace = Workspace(keys={})
    workspace.tamper = lambda _: workspace.keys.update(_assumed())
    signed = SigV4("eu-west-1", role_arn=ROLE, external_id="customer-7")
    with answering(workspace.answer) as url:
        client = Prometheus("main", PrometheusSource(url, PATIENT, sigv4=signed), CLOCK)
        assert [client.query(EXPR, NOW, call(60).deadline).points[0].value for _ in range(2)] == [7, 7]
        client.close()
    assert [each.action for each in sts.requests] == ["sts:AssumeRole"]
    assert all(each.headers["X-Amz-Security-Token"] for each in workspace.requests)


@pytest.mark.slow
def test_a_role_that_is_refused_is_a_failed_query_with_the_remedy(sts: "AwsServer") -> None:
    workspace = Workspace()
    with answering(workspace.answer) as url:
        message = refusal(url, SigV4("eu-west-1", role_arn=ROLE, external_id="wrong"))
    assert "cannot be asked: sigv4: An error occurred (AccessDenied) when calling the AssumeRole operation" in message
    assert "check roleArn, externalId and the role's trust policy" in message
    assert workspace.requests == []


@pytest.mark.slow
def test_botocore_is_imported_for_sources_that_need_it_alone() -> None:
    """It takes a third of a second and some 10 MB."""
    code = "import sys, autoscaler.observe; sys.exit('botocore' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
