"""Changes over TCP: which clients may make them, and requests that another site's page sends from a browser."""

from collections.abc import Iterator, Mapping

import bcrypt
import pytest

from autoscaler.config.settings import WebSettings
from tests.web.conftest import lived
from tests.web.serving import Daemon, Served, serving

PAUSE = "/api/v1/autoscalers/web/pause"
USER = ("ann", "correct horse")


@pytest.fixture(scope="module")
def with_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("users")
    config = folder / "web.yaml"
    hashed = bcrypt.hashpw(USER[1].encode(), bcrypt.gensalt(4)).decode()
    config.write_text(f"basic_auth_users:\n  {USER[0]}: {hashed}\n")
    with lived(folder / "state") as daemon:
        daemon.web = WebSettings(operators=(USER[0],))
        with serving(daemon, config) as served:
            yield served


@pytest.fixture
def browser(with_users: Served) -> Iterator[Served]:
    """The browser of an operator who has logged in."""
    with_users.session.auth = USER
    yield with_users
    with_users.post("/api/v1/resume", {"all": True})
    with_users.daemon.reloads = with_users.daemon.resignations = 0


def untouched(daemon: Daemon) -> bool:
    return not daemon.state.archive.steering() and daemon.reloads == daemon.resignations == 0


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
    ],
)
@pytest.mark.parametrize("path", [PAUSE, "/-/reload", "/-/resign"])
def test_a_page_of_another_site_changes_nothing(browser: Served, path: str, headers: Mapping[str, str]) -> None:
    """CSRF: the operator's browser sends the credentials with the page's request."""
    answer = browser.post(path, headers=headers)
    assert (answer.status_code, answer.json()["errorType"]) == (403, "forbidden")
    assert "another" in answer.json()["error"]
    assert untouched(browser.daemon)


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain;charset=UTF-8"]
)
def test_a_form_changes_nothing(browser: Served, kind: str) -> None:
    """An old browser sends a form to another site without an Origin header."""
    answer = browser.post(PAUSE, data='{"reason":"x"}', headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert untouched(browser.daemon)


def test_a_body_without_a_type_is_refused(browser: Served) -> None:
    answer = browser.post(PAUSE, data=b"{}")
    assert answer.status_code == 415
    assert untouched(browser.daemon)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_daemon_s_own_page_makes_changes(browser: Served, scheme: str) -> None:
    """Behind a proxy that terminates TLS the origin is https; the browser says that it is the same origin."""
    headers = {"Origin": browser.url.replace("http:", f"{scheme}:"), "Sec-Fetch-Site": "same-origin"}
    assert browser.post(PAUSE, {}, headers=headers).status_code == 200


def test_a_preflight_request_is_refused(served: Served) -> None:
    headers = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    answer = served.session.options(served.server.url + PAUSE, headers=headers, timeout=10)
    assert answer.status_code == 405
    assert not any(name.lower().startswith("access-control") for name in answer.headers)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:9797", "127.0.0.1.evil.example", "localhost.evil.example", "[evil]", ""]
)
def test_a_rebound_name_is_refused(served: Served, host: str) -> None:
    """DNS rebinding: evil.example resolves to 127.0.0.1, so its page could read and write as if from the same site."""
    for path in ("/api/v1/autoscalers", "/metrics", "/"):
        assert served.get(path, headers={"Host": host}).status_code == 403
    answer = served.post_over_tcp(PAUSE, headers={"Host": host, "Origin": f"http://{host}"})
    assert answer.status_code == 403
    assert "web.allowedHosts" in answer.json()["error"]
    assert served.daemon.state.archive.steering() == {}


@pytest.mark.parametrize(
    "host", ["localhost:9797", "127.0.0.1", "[::1]:9797", "LOCALHOST", "app.localhost", "10.1.2.3"]
)
def test_the_machine_s_own_names_and_addresses_are_accepted(served: Served, host: str) -> None:
    assert served.get("/api/v1/autoscalers", headers={"Host": host}).status_code == 200


def test_a_name_in_allowed_hosts_is_accepted(served: Served) -> None:
    """Prometheus may scrape the machine's full name while its host name is short."""
    assert served.get("/metrics", headers={"Host": "vm1.example.com:9797"}).status_code == 403
    served.server.follow(None, WebSettings(allowed_hosts=("vm1.example.com",)))
    for host in ("vm1.example.com:9797", "VM1.example.com", "vm1.example.com."):
        assert served.get("/metrics", headers={"Host": host}).status_code == 200
    assert served.get("/metrics", headers={"Host": "evil.vm1.example.com"}).status_code == 403
    served.server.follow(None, WebSettings())


@pytest.mark.parametrize("path", ["/metrics/", "/api/v1/autoscalers/", "//evil.example/-/healthy/", "/metrics/?a=b"])
def test_there_are_no_redirects(served: Served, path: str) -> None:
    """The client chooses the Host header, and a cache or a browser could pass a redirect to others."""
    url = served.server.url + path
    answer = served.session.get(url, headers={"Host": "10.1.2.3"}, allow_redirects=False, timeout=10)
    assert (answer.status_code, answer.headers.get("location")) == (404, None)
