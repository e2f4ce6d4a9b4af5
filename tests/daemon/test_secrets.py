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
    "client": "secret-of-a-client",
    "key": "secret-access-key",
    "session": "session-token-of-aws",
}


@pytest.fixture
def refusing() -> Iterator[str]:
    """Run a server that refuses every request and returns its content."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"{self.path} {self.headers}".encode()
            self.send_response(401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with serving(Handler) as url:
        yield url


@pytest.mark.parametrize("reachable", [True, False])
def test_the_log_has_no_secret_at_any_level(folder: Path, refusing: str, reachable: bool) -> None:
    """Bodies of answers, messages of errors and debug logs of libraries could contain one."""
    (folder / "password").write_text(SECRETS["password"])
    (folder / "token").write_text(SECRETS["token"])
    (folder / "client").write_text(SECRETS["client"])
    (folder / "header").write_text(SECRETS["header"])
    url = refusing if reachable else "http://127.0.0.1:1"
    more = {
        "headers": {"X-Key": SECRETS["header"], "X-Other": {"valueFile": "header"}},
        "params": {"key": SECRETS["parameter"]},
    }
    ways: dict[str, dict[str, Any]] = {
        "basic": {"basicAuth": {"username": "me", "passwordFile": "password"}},
        "bearer": {"bearerTokenFile": "token"},
        "oauth2": {"oauth2": {"clientId": "me", "clientSecretFile": "client", "tokenUrl": url}},
        "sigv4": {"sigv4": {"region": "eu-west-1"}},
    }
    keys = {
        "AWS_ACCESS_KEY_ID": "AKID",
        "AWS_SECRET_ACCESS_KEY": SECRETS["key"],
        "AWS_SESSION_TOKEN": SECRETS["session"],
    }
    scalers = [autoscaler(name, "vector(1)") for name in ways]
    for scaler in scalers:
        scaler["metrics"][0]["external"]["query"]["prometheus"] = scaler["name"]
    config = write_config(folder, {name: {"url": url, **way, **more} for name, way in ways.items()}, scalers)
    with running_daemon(config, "--log.level=debug", service_manager=True, env=keys) as daemon:
        for name in ways:
            daemon.wait_for("decision", autoscaler=name, level="warning", count=2)
        assert daemon.stop() == 0
        text = str(daemon.log) + str(daemon.told)
    for secret in SECRETS.values():
        assert secret not in text
