"""TLS and client certificates, against a real server."""

import socket
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from autoscaler.config.settings import Settings
from autoscaler.web import check_operators, load_web_config
from tests.servers.certificates import Authority
from tests.web.serving import Daemon, serving
from tests.web.test_access import ANN, OPERATOR, PASSWORD, PAUSE, READER


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "web.yaml"


def tls(authority: Authority, *more: str) -> str:
    pair = authority.sign("server", "127.0.0.1", "localhost")
    return "\n".join(["tls_server_config:", f"  cert_file: {pair.cert}", f"  key_file: {pair.key}", *more, ""])


def client_certificates(authority: Authority, kind: str) -> tuple[str, ...]:
    return (f"  client_auth_type: {kind}", f"  client_ca_file: {authority.ca}")


def test_tls_is_served(daemon: Daemon, config: Path, authority: Authority) -> None:
    config.write_text(tls(authority))
    with serving(daemon, config) as served:
        assert served.server.url.startswith("https://")
        assert served.get("/-/healthy", verify=str(authority.ca)).status_code == 200
        plain = served.server.url.replace("https:", "http:")
        with pytest.raises(requests.ConnectionError):
            served.session.get(f"{plain}/-/healthy", timeout=5)


def test_tls_alone_gives_no_right_to_change_anything(daemon: Daemon, config: Path, authority: Authority) -> None:
    config.write_text(tls(authority))
    with serving(daemon, config) as served:
        answer = served.post(PAUSE, verify=str(authority.ca))
    assert answer.status_code == 403


@pytest.mark.parametrize("kind", ["RequireAndVerifyClientCert", "VerifyClientCertIfGiven"])
def test_a_certificate_whose_name_is_an_operators_changes_things(
    daemon: Daemon, config: Path, authority: Authority, kind: str
) -> None:
    """Its common name is the author; a scraper's certificate, of the same authority, only reads."""
    config.write_text(tls(authority, *client_certificates(authority, kind)))
    ann, scraper = (authority.sign(name, name) for name in (ANN, "scraper"))
    daemon.web = OPERATOR
    with serving(daemon, config) as served:
        verify = str(authority.ca)
        assert served.get("/metrics", verify=verify, cert=(str(scraper.cert), str(scraper.key))).status_code == 200
        refused = served.post(PAUSE, verify=verify, cert=(str(scraper.cert), str(scraper.key)))
        assert refused.status_code == 403
        assert "the user 'scraper' may only read: web.operators does not name it" in refused.json()["error"]
    with serving(daemon, config) as served:
        assert served.post(PAUSE, verify=str(authority.ca), cert=(str(ann.cert), str(ann.key))).status_code == 200
    pause = daemon.state.archive.steering()["web"].pause
    assert pause is not None
    assert pause.by == ANN


def test_where_users_are_configured_a_certificate_is_no_login(
    daemon: Daemon, config: Path, authority: Authority
) -> None:
    """Both are needed then, and the user is who asks: a scraper on the operator's machine stays a scraper."""
    config.write_text(tls(authority, *client_certificates(authority, "RequireAndVerifyClientCert")) + READER)
    pair = authority.sign("client", ANN)
    daemon.web = OPERATOR
    with serving(daemon, config) as served:
        served.session.verify, served.session.cert = str(authority.ca), (str(pair.cert), str(pair.key))
        assert served.post(PAUSE).status_code == 401
        assert served.post(PAUSE, auth=("scraper", PASSWORD)).status_code == 403
        assert served.post(PAUSE, auth=(ANN, PASSWORD)).status_code == 200


def test_without_a_client_certificate_nothing_is_answered(
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


def test_a_certificate_that_is_optional_proves_nothing(daemon: Daemon, config: Path, authority: Authority) -> None:
    config.write_text(tls(authority, *client_certificates(authority, "VerifyClientCertIfGiven")))
    with serving(daemon, config) as served:
        assert served.get("/-/healthy", verify=str(authority.ca)).status_code == 200
        assert served.post(PAUSE, verify=str(authority.ca)).status_code == 403


def test_the_least_version_of_tls_holds(daemon: Daemon, config: Path, authority: Authority) -> None:
    config.write_text(tls(authority, "  min_version: TLS13"))
    with serving(daemon, config) as served:
        old = ssl.create_default_context(cafile=str(authority.ca))
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        place = urlsplit(served.server.url)
        with (
            socket.create_connection((place.hostname or "", place.port or 0), timeout=5) as plain,
            pytest.raises(ssl.SSLError),
        ):
            old.wrap_socket(plain, server_hostname="127.0.0.1")


def test_a_renewed_certificate_is_served_after_a_reload(
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
            assert fresh.get(f"{served.server.url}/-/healthy", verify=str(renewed.ca), timeout=5).status_code == 200


def test_an_operator_may_be_a_certificates_name_not_yet_signed(config: Path, authority: Authority) -> None:
    config.write_text(tls(authority, *client_certificates(authority, "RequireAndVerifyClientCert")))
    check_operators(load_web_config(config), Settings(Path("autoscaler.yaml"), {}, {}, (), web=OPERATOR))
