"""Queries to a real Prometheus, with authentication."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from requests.adapters import HTTPAdapter

from autoscaler.config.authentication import BasicAuth, Tls
from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError
from autoscaler.observe.prometheus import Prometheus
from autoscaler.observe.result import Point, QueryResult
from tests.observe.build import CLOCK, NOW, call
from tests.servers.certificates import Authority
from tests.servers.prometheus import PrometheusServer, running_prometheus

pytestmark = pytest.mark.slow

PASSWORD = "correct horse"
PASSWORD_BCRYPT = "$2b$04$o49Je4LfeZYkDXKmuB7vre2VtX8VmkkGKXL57OiJDtm.vP8N.G79m"


def ask(source: PrometheusSource, expr: str = "vector(1)") -> QueryResult:
    client = Prometheus("main", source, CLOCK)
    try:
        return client.query(expr, NOW, call().deadline)
    finally:
        client.close()


def refusal(source: PrometheusSource, expr: str = "vector(1)") -> str:
    with pytest.raises(MetricError) as caught:
        ask(source, expr)
    return str(caught.value)


def test_a_rejection_has_prometheus_own_message(prometheus: PrometheusServer) -> None:
    """Only Prometheus knows what is wrong with an expression or its evaluation."""
    message = refusal(PrometheusSource(prometheus.url), "load * on() load")
    assert message.startswith("prometheus 'main' answered HTTP 422: execution: ")
    assert "found duplicate series" in message


def test_the_documented_expression_excludes_stale_samples(prometheus: PrometheusServer) -> None:
    """docs/queries.md recommends it."""
    fresh = ask(PrometheusSource(prometheus.url), "sum(load and timestamp(load) > time() - 120)")
    assert fresh.points == (Point({}, 1.5),)


def test_a_long_query_is_posted(prometheus: PrometheusServer) -> None:
    """Servers reject URLs of 2 MB, and a merged query can be that long."""
    long = f'load{{instance!="{"x" * 2_000_000}"}}'
    assert len(ask(PrometheusSource(prometheus.url), long).points) == 2


def test_configured_parameters_never_replace_the_query(prometheus: PrometheusServer) -> None:
    """`params: {query: up}` would make every autoscaler scale on the same number."""
    source = PrometheusSource(prometheus.url, params={"query": "vector(7)", "time": "0"})
    assert ask(source, "time()").points == (Point({}, NOW.timestamp()),)


def test_a_wrong_path_says_so(prometheus: PrometheusServer) -> None:
    """The most common mistake: a wrong route prefix."""
    assert "HTTP 404" in (message := refusal(PrometheusSource(f"{prometheus.url}/prefix")))
    assert "it is not a Prometheus, or its API has another path: 404 page not found" in message
    assert message.endswith(f"; check its url ({prometheus.url}/prefix)")


def test_partial_data_is_an_error(tmp_path: Path) -> None:
    """If a remote store fails, Prometheus sums the rest and warns, and the sum is not the whole load."""
    remote = {"remote_read": [{"url": "http://127.0.0.1:1/read", "read_recent": True}]}
    with running_prometheus(tmp_path, config=remote) as server:
        assert "partial data: remote_read" in refusal(PrometheusSource(server.url), "sum(up)")


def test_a_prometheus_that_is_down_is_an_error_within_the_cycle(tmp_path: Path) -> None:
    """The daemon uses it again as soon as it is back."""
    with running_prometheus(tmp_path) as server:
        client = Prometheus("main", PrometheusSource(server.url), CLOCK)
        client.query("vector(1)", NOW, call().deadline)
    with pytest.raises(MetricError, match="Connection refused"):
        client.query("vector(1)", NOW, call().deadline)
    with running_prometheus(tmp_path, port=int(server.url.rpartition(":")[2])):
        assert client.query("vector(1)", NOW, call().deadline).points
    client.close()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a Prometheus with basic authentication, and return its URL."""
    session = requests.Session()
    session.auth = ("scaler", PASSWORD)
    web = {"basic_auth_users": {"scaler": PASSWORD_BCRYPT}}
    with running_prometheus(tmp_path_factory.mktemp("basic"), web_config=web, client=session) as server:
        yield server.url


class TestBasicAuth:
    """A user and a password, from a file or in the URL."""

    def test_a_rotated_password_takes_effect(self, guarded: str, tmp_path: Path) -> None:
        """The file is read at each use, so rotation needs no restart."""
        file = tmp_path / "password"
        file.write_text("wrong")
        client = Prometheus("main", PrometheusSource(guarded, basic_auth=BasicAuth("scaler", file)), CLOCK)
        with pytest.raises(MetricError, match=r"HTTP 401 .* check its credentials"):
            client.query("vector(1)", NOW, call().deadline)
        file.write_text(f"{PASSWORD}\n")
        assert client.query("vector(1)", NOW, call().deadline).points
        client.close()

    def test_credentials_in_the_url_work_and_are_never_shown(self, guarded: str) -> None:
        """Messages go to logs, the page and the state."""
        there = guarded.replace("://", "://scaler:correct%20horse@")
        assert ask(PrometheusSource(there)).points
        message = refusal(PrometheusSource(there), "1 +")
        assert "correct" not in message
        assert "scaler" not in message

    @pytest.mark.parametrize("content", [None, "", "two\nlines"])
    def test_a_password_file_without_a_password_is_named(
        self, guarded: str, tmp_path: Path, content: str | None
    ) -> None:
        """The message names the file but not its content."""
        file = tmp_path / "password"
        if content is not None:
            file.write_text(content)
        message = refusal(PrometheusSource(guarded, basic_auth=BasicAuth("scaler", file)))
        assert f"basicAuth.passwordFile {file}" in message
        assert "lines" not in message


class NamedServer(HTTPAdapter):
    """Checks the test server's certificate against its own name, not the address."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        name = "prometheus.internal"
        super().init_poolmanager(*args, **options, server_hostname=name, assert_hostname=name)


def test_a_server_without_tls_is_asked_by_http(prometheus: PrometheusServer) -> None:
    """The message says which word of the url is wrong."""
    said = refusal(PrometheusSource(prometheus.url.replace("http://", "https://")))
    assert "as from a server without TLS; write http:// instead of https:// in its url" in said


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Make the authority that signs both certificates."""
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def locked(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a Prometheus with a certificate of the test authority that requires a client certificate."""
    server, ours = authority.sign("server", "prometheus.internal"), authority.sign("tests", "tests")
    tls = {"cert_file": str(server.cert), "key_file": str(server.key), "client_ca_file": str(authority.ca)}
    web = {"tls_server_config": tls | {"client_auth_type": "RequireAndVerifyClientCert"}}
    session = requests.Session()
    session.mount("https://", NamedServer())
    session.verify, session.cert = str(authority.ca), (str(ours.cert), str(ours.key))
    with running_prometheus(tmp_path_factory.mktemp("tls"), web_config=web, client=session) as running:
        yield running.url


class TestTls:
    """Certificates of the test authority, in both directions."""

    def test_own_authority_client_certificate_and_server_name(self, locked: str, authority: Authority) -> None:
        """All settings of `tls` together."""
        ours = authority.sign("scaler", "scaler")
        tls = Tls(authority.ca, ours.cert, ours.key, server_name="prometheus.internal")
        assert ask(PrometheusSource(locked, tls=tls)).points
