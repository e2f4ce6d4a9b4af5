"""No secret is ever logged."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import autoscaler, running_daemon, write_config
from tests.servers.web import serving

pytestmark = pytest.mark.slow

SECRETS = {
    "password": "correct-horse-battery",
    "token": "eyJhbGciOiJub25lIn0",
    "header": "staple-of-headers",
    "parameter": "value-of-a-parameter",
}


@pytest.fixture
def refusing() -> Iterator[str]:
    """A server that refuses everybody, and sends back what it was sent."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"{self.path} {self.headers}".encode()
            self.send_response(401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with serving(Handler) as url:
        yield url


@pytest.mark.parametrize("reachable", [True, False])
def test_the_log_holds_no_secret_at_any_level(folder: Path, refusing: str, reachable: bool) -> None:
    """Not in an answer's body, not in an error's message, not in a library's debug log."""
    (folder / "password").write_text(SECRETS["password"])
    (folder / "token").write_text(SECRETS["token"])
    url = refusing if reachable else "http://127.0.0.1:1"
    more = {"headers": {"X-Key": SECRETS["header"]}, "params": {"key": SECRETS["parameter"]}}
    basic = {"url": url, "basicAuth": {"username": "me", "passwordFile": "password"}, **more}
    bearer = {"url": url, "bearerTokenFile": "token", **more}
    scalers = [autoscaler("web", "vector(1)"), autoscaler("queue", "vector(1)")]
    scalers[1]["metrics"][0]["external"]["query"]["prometheus"] = "second"
    config = write_config(folder, {"default": basic, "second": bearer}, scalers)
    with running_daemon(config, "--log.level=debug", service_manager=True) as daemon:
        daemon.wait_for("decision", autoscaler="web", level="warning", count=2)
        daemon.wait_for("decision", autoscaler="queue", level="warning", count=2)
        assert daemon.stop() == 0
        text = str(daemon.log) + str(daemon.told)
    for secret in SECRETS.values():
        assert secret not in text
