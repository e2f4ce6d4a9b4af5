"""Requests that a stranger's page or a proxy could make are refused."""

from collections.abc import Mapping

import pytest

from autoscaler.model import Steering
from tests.web.serving import Daemon, Served

PAUSE = "/api/v1/autoscalers/web/pause"


def untouched(daemon: Daemon) -> bool:
    return not daemon.state.archive.steering() and daemon.reloads == 0


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
@pytest.mark.parametrize("path", [PAUSE, "/-/reload"])
def test_another_sites_page_cannot_change_anything(served: Served, path: str, headers: Mapping[str, str]) -> None:
    """CSRF: a browser on the operator's machine is asked by a page from elsewhere to post to loopback."""
    answer = served.post(path, headers=headers)
    assert (answer.status_code, answer.json()["errorType"]) == (403, "forbidden")
    assert untouched(served.daemon)


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain;charset=UTF-8"]
)
@pytest.mark.parametrize("path", [PAUSE, "/-/reload"])
def test_a_form_cannot_change_anything(served: Served, path: str, kind: str) -> None:
    """An old browser sends a form across origins without saying where it comes from."""
    answer = served.post(path, data='{"by":"x"}', headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert untouched(served.daemon)


def test_a_body_without_a_type_is_refused(served: Served) -> None:
    answer = served.post(PAUSE, data=b"{}")
    assert answer.status_code == 415
    assert untouched(served.daemon)


def test_our_own_page_may_change_things(served: Served) -> None:
    headers = {"Origin": served.server.url, "Sec-Fetch-Site": "same-origin"}
    assert served.post(PAUSE, {}, headers=headers).status_code == 200


def test_a_proxy_that_ends_tls_does_not_lock_our_page_out(served: Served) -> None:
    """The origin is https there and http here; the browser itself says that it is the same."""
    origin = served.server.url.replace("http:", "https:")
    assert served.post(PAUSE, {}, headers={"Origin": origin}).status_code == 403
    headers = {"Origin": origin, "Sec-Fetch-Site": "same-origin"}
    assert served.post(PAUSE, {}, headers=headers).status_code == 200


def test_a_preflight_is_not_granted(served: Served) -> None:
    headers = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    answer = served.session.options(served.server.url + PAUSE, headers=headers, timeout=10)
    assert answer.status_code == 405
    assert not any(name.lower().startswith("access-control") for name in answer.headers)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:9797", "127.0.0.1.evil.example", "localhost.evil.example", "[evil]", ""]
)
def test_a_rebound_name_is_refused(served: Served, host: str) -> None:
    """DNS rebinding: evil.example resolves to 127.0.0.1, and its page reads and writes as if we were it."""
    for path in ("/api/v1/autoscalers", "/metrics", "/"):
        assert served.get(path, headers={"Host": host}).status_code == 403
    answer = served.post(PAUSE, headers={"Host": host, "Origin": f"http://{host}"})
    assert answer.status_code == 403
    assert served.daemon.state.archive.steering() == {}


@pytest.mark.parametrize(
    "host", ["localhost:9797", "127.0.0.1", "[::1]:9797", "LOCALHOST", "app.localhost", "10.1.2.3"]
)
def test_our_own_names_and_addresses_are_fine(served: Served, host: str) -> None:
    assert served.get("/api/v1/autoscalers", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "header",
    [
        "Forwarded",
        "Via",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
        "X-Forwarded-Port",
        "X-Forwarded-Server",
        "X-Forwarded-Prefix",
        "X-Real-IP",
        "X-Client-IP",
        "X-Cluster-Client-IP",
        "True-Client-IP",
        "CF-Connecting-IP",
        "CF-Ray",
        "CDN-Loop",
        "Fastly-Client-IP",
        "X-Amzn-Trace-Id",
        "X-Original-Host",
        "X-Envoy-External-Address",
        "X-ProxyUser-Ip",
        "traceparent",
        "Max-Forwards",
        "X-New-Cloud-Client-Address",
        "X_Forwarded_For",
        "X-ClientIP",
        "X-HAProxy-Node",
        "Proxy-Connection",
    ],
)  # fmt: skip - a list
def test_a_proxy_on_this_machine_is_not_this_machine(served: Served, header: str) -> None:
    """It would hand everybody the rights of loopback."""
    answer = served.post(PAUSE, headers={header: "203.0.113.5"})
    assert answer.status_code == 403
    assert f"not through a proxy, which the header {header.lower()} tells of" in answer.json()["error"]
    assert "--web.config.file" in answer.json()["error"]
    assert served.daemon.state.archive.steering().get("web", Steering()) == Steering()


def test_what_browsers_and_curl_send_is_no_proxy(served: Served) -> None:
    """All of it at once: Chromium's, Firefox's and curl's own headers, for a request of our page."""
    headers = {
        "Accept": "*/*",
        "Accept-Encoding": "gzip, br",
        "Accept-Language": "en",
        "Cache-Control": "no-cache",
        "Connection": "keep-alive, Upgrade, HTTP2-Settings",
        "Cookie": "a=b",
        "DNT": "1",
        "HTTP2-Settings": "AA",
        "If-None-Match": "x",
        "Origin": served.server.url,
        "Pragma": "no-cache",
        "Priority": "u=1",
        "Referer": "x",
        "Sec-CH-UA": "x",
        "Sec-CH-UA-Mobile": "?0",
        "Sec-Fetch-Dest": "empty",
        "Sec-Fetch-Mode": "cors",
        "Sec-Fetch-Site": "same-origin",
        "Sec-GPC": "1",
        "TE": "trailers",
        "Upgrade": "h2c",
        "User-Agent": "x",
        "Upgrade-Insecure-Requests": "1",
        "X-Requested-With": "XMLHttpRequest",
        "Autoscaler-Refresh": "yes",
    }  # fmt: skip - a list
    assert served.post(PAUSE, {}, headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["/metrics/", "/api/v1/autoscalers/", "//evil.example/-/healthy/", "/metrics/?a=b"])
def test_a_redirect_names_a_path_only(served: Served, path: str) -> None:
    """The Host header is the client's word: a cache, or a browser, would carry it to others."""
    url = served.server.url + path
    answer = served.session.get(url, headers={"Host": "10.1.2.3"}, allow_redirects=False, timeout=10)
    location = answer.headers.get("location", "/")
    assert (answer.is_redirect, answer.status_code) in ((True, 307), (False, 404))
    assert location.startswith("/")
    assert not location.startswith("//")
    assert "10.1.2.3" not in location
    if path == "/metrics/?a=b":
        assert location == "/metrics?a=b"
