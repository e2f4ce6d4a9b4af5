"""TLS and client certificates on a real server."""

import socket
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from autoscaler.config.settings import Settings
from autoscaler.web.webconfig import check_operators, load_web_config
from tests.servers.certificates import Authority
from tests.web.operators import ANN, OPERATOR, PASSWORD, PAUSE, WITH_READER, tls
from tests.web.serving import Daemon, serving


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "web.yaml"


def client_certificates(authority: Authority, kind: str) -> tuple[str, ...]:
    return (f"  client_auth_type: {kind}", f"  client_ca_file: {authority.ca}")


def test_a_server_with_a_certificate_answers_over_tls_only(daemon: Daemon, config: Path, authority: Authority) -> None:
    config.write_text(tls(authority))
    with serving(daemon, config) as served:
        assert served.server.url.startswith("https://")
        assert served.get("/-/healthy", verify=str(authority.ca)).status_code == 200
        plain = served.server.url.replace("https:", "http:")
        with pytest.raises(requests.ConnectionError):
            served.session.get(f"{plain}/-/healthy", timeout=30)


@pytest.mark.parametrize("optional", [False, True], ids=["no client certificates", "an optional one"])
def test_a_client_without_a_certificate_changes_nothing(
    daemon: Daemon, config: Path, authority: Authority, optional: bool
) -> None:
    """TLS alone does not identify the client."""
    more = client_certificates(authority, "VerifyClientCertIfGiven") if optional else ()
    config.write_text(tls(authority, *more))
    with serving(daemon, config) as served:
        assert served.get("/-/healthy", verify=str(authority.ca)).status_code == 200
        assert served.post(PAUSE, verify=str(authority.ca)).status_code == 403


@pytest.mark.parametrize("kind", ["RequireAndVerifyClientCert", "VerifyClientCertIfGiven"])
def test_an_operator_s_certificate_allows_changes(
    daemon: Daemon, config: Path, authority: Authority, kind: str
) -> None:
    """Its common name is the author. A scraper's certificate, from the same authority, only allows reading."""
    config.write_text(tls(authority, *client_certificates(authority, kind)))
    ann, scraper = (authority.sign(name, name) for name in (ANN, "scraper"))
    daemon.web = OPERATOR
    with serving(daemon, config) as served:
        verify = str(authority.ca)
        assert served.get("/metrics", verify=verify, cert=(str(scraper.cert), str(scraper.key))).status_code == 200
        refused = served.post(PAUSE, verify=verify, cert=(str(scraper.cert), str(scraper.key)))
        assert refused.status_code == 403
        assert (
            "the user 'scraper' may only read here, because web.operators does not name it" in refused.json()["error"]
        )
    with serving(daemon, config) as served:
        assert served.post(PAUSE, verify=str(authority.ca), cert=(str(ann.cert), str(ann.key))).status_code == 200
    pause = daemon.state.archive.steering()["web"].pause
    assert pause is not None
    assert pause.by == ANN


def test_with_users_a_certificate_does_not_replace_the_password(
    daemon: Daemon, config: Path, authority: Authority
) -> None:
    """The client needs both, and the user's name decides: a scraper on the operator's machine only reads."""
    config.write_text(tls(authority, *client_certificates(authority, "RequireAndVerifyClientCert")) + WITH_READER)
    pair = authority.sign("client", ANN)
    daemon.web = OPERATOR
    with serving(daemon, config) as served:
        served.session.verify, served.session.cert = str(authority.ca), (str(pair.cert), str(pair.key))
        assert served.post(PAUSE).status_code == 401
        assert served.post(PAUSE, auth=("scraper", PASSWORD)).status_code == 403
        assert served.post(PAUSE, auth=(ANN, PASSWORD)).status_code == 200


def test_a_required_client_certificate_is_verified(
    daemon: Daemon, config: Path, authority: Authority, tmp_path: Path
) -> None:
    config.write_text(tls(authority, *client_certificates(authority, "RequireAndVerifyClientCert")))
    (tmp_path / "other").mkdir()
    foreign = Authority(tmp_path / "other", "another authority").sign("client", "eve")
    with serving(daemon, config) as served:
        with pytest.raises(requests.ConnectionError):
            served.get("/-/healthy", verify=str(authority.ca))
        with pytest.raises(requests.ConnectionError):
            served.get("/-/healthy", verify=str(authority.ca), cert=(str(foreign.cert), str(foreign.key)))


def test_a_client_below_min_version_is_refused(daemon: Daemon, config: Path, authority: Authority) -> None:
    config.write_text(tls(authority, "  min_version: TLS13"))
    with serving(daemon, config) as served:
        old = ssl.create_default_context(cafile=str(authority.ca))
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        place = urlsplit(served.server.url)
        with (
            socket.create_connection((place.hostname or "", place.port or 0), timeout=30) as plain,
            pytest.raises(ssl.SSLError),
        ):
            old.wrap_socket(plain, server_hostname="127.0.0.1")


def test_a_reload_loads_a_renewed_certificate(
    daemon: Daemon, config: Path, authority: Authority, tmp_path: Path
) -> None:
    """Certificates are renewed while the daemon runs."""
    config.write_text(tls(authority))
    with serving(daemon, config) as served:
        (tmp_path / "new").mkdir()
        renewed = Authority(tmp_path / "new", "new authority")
        pair = renewed.sign("server", "127.0.0.1")
        (tmp_path / "server.pem").write_bytes(pair.cert.read_bytes())
        (tmp_path / "server.key").write_bytes(pair.key.read_bytes())
        served.server.follow(load_web_config(config), served.daemon.web)
        with requests.Session() as fresh:
            assert fresh.get(f"{served.server.url}/-/healthy", verify=str(renewed.ca), timeout=30).status_code == 200


def test_an_operator_s_certificate_may_be_issued_later(config: Path, authority: Authority) -> None:
    config.write_text(tls(authority, *client_certificates(authority, "RequireAndVerifyClientCert")))
    check_operators(load_web_config(config), Settings(Path("autoscaler.yaml"), {}, {}, (), web=OPERATOR))
