"""No secret is ever shown, whatever a server repeats of the request."""

import base64
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
import requests

from tests.daemon.running import RunningDaemon, autoscaler, run_command, running_daemon, write_config
from tests.servers.scripted import Wire, scripted

pytestmark = pytest.mark.slow

SECRETS = {
    "password": "correct horse/battery+",
    "token": "eyJhbGciOiJub25lIn0.x_y",
    "header": "staple-of-headers",
    "file": "header-of-a-file",
    "parameter": "value of a&parameter",
    "client": "secret-of-a-client/",
    "endpoint": "parameter-of-tokens",
    "access": "AKIDOFNOBODY",
    "key": "secret-access-key",
    "session": "session-token-of-aws/==",
    "nomad": "0f3c7c44-nomad",
    "webhook": "T000/B000/path-of-a-webhook",
}
PLACES = {
    "refusal": ("401 Unauthorized", "text/plain", "{all}"),
    "forbidden": ("403 Forbidden", "application/json", '{{"status":"error","errorType":"x","error":{json}}}'),
    "bad": ("400 Bad Request", "application/json", '{{"status":"error","errorType":"bad_data","error":{json}}}'),
    "failed": ("422 Failed", "application/json", '{{"status":"error","errorType":"execution","error":{json}}}'),
    "broken": ("500 Broken", "application/json", '{{"status":"error","errorType":"internal","error":{json}}}'),
    "busy": ("503 Busy", "text/html", "{all}"),
    "page": ("200 OK", "text/html", "{all}"),
    "error": ("200 OK", "application/json", '{{"status":"error","errorType":"timeout","error":{json}}}'),
    "status": ("200 OK", "application/json", '{{"status":{json}}}'),
    "warning": (
        "200 OK",
        "application/json",
        '{{"status":"success","warnings":[{json}],"data":{{"resultType":"vector","result":[]}}}}',
    ),
    "value": (
        "200 OK",
        "application/json",
        '{{"status":"success","data":{{"resultType":"scalar","result":[1,{json}]}}}}',
    ),
    "kind": ("200 OK", "{line}", "{{"),
    "reason": ("500 {line}", "{line}", "{all}"),
    "encoding": ("200 OK", "text/html\r\nContent-Encoding: {line}", "{{}}"),
    "redirect": ("302 Found", "text/html\r\nLocation: http://127.0.0.1/{line}", "{all}"),
    "message": ("500 Broken", "application/json", '{{"__type":"ServerException","message":{json}}}'),
    "xml": (
        "400 Bad Request",
        "text/xml",
        "<ErrorResponse><Error><Code>Refused</Code><Message>{line}</Message></Error></ErrorResponse>",
    ),
}
"""Name -> status line, content type and body of an answer that repeats the request."""

SOURCES = [
    *(("basic", place) for place in PLACES),
    *((name, place) for name in ("bearer", "oauth2", "sigv4") for place in ("bad", "page", "reason", "raw")),
]
NOMAD = ("refusal", "broken", "page", "kind", "reason", "encoding")
AWS = ("busy", "message", "xml", "reason", "raw")


def repeat(wire: Wire) -> None:
    """Repeat each request where the first part of its path says; without one, as bytes that are not HTTP."""
    while True:
        request = wire.read()
        text = request.decode("latin-1")
        line = " ".join(text.split())
        encoded = f"{line} {quote(line, safe='')} {quote_plus(line)} {base64.b64encode(request).decode()}"
        place = PLACES.get(text.split("/")[1].split("?")[0])
        if place is None:
            wire.send(request)
            return
        status, kind, body = (
            each.format(line=encoded, all=f"{encoded} {text}", json=json.dumps(f"{encoded} {text}")) for each in place
        )
        wire.answer(body.encode("latin-1"), status, f"Content-Type: {kind}\r\n".encode("latin-1"))


@pytest.fixture
def repeating() -> Iterator[str]:
    """A server that repeats the whole request."""
    with scripted(repeat) as server:
        yield server.url


def forms(secret: str) -> Iterator[str]:
    """Yield what a text may make of a secret."""
    yield from (secret, quote(secret), quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1])
    for before in ("", "a", "me:"):
        yield base64.b64encode(f"{before}{secret}".encode()).decode().rstrip("=")[4:-2]


def config_of(folder: Path, url: str) -> Path:
    for name in ("password", "token", "client", "file", "nomad"):
        (folder / name).write_text(SECRETS[name])
    (folder / "webhook-key").write_text(base64.b64encode(bytes(32)).decode())
    more = {
        "timeout": "5s",
        "headers": {"X-Key": SECRETS["header"], "X-Other": {"valueFile": "file"}},
        "params": {"key": SECRETS["parameter"]},
    }
    token = {"clientId": "me", "clientSecretFile": "client", "endpointParams": {"audience": SECRETS["endpoint"]}}
    ways: dict[str, dict[str, Any]] = {
        "basic": {"basicAuth": {"username": "me", "passwordFile": "password"}},
        "bearer": {"bearerTokenFile": "token"},
        "oauth2": {"oauth2": token},
        "sigv4": {"sigv4": {"region": "eu-west-1"}},
    }
    sources = {f"{name}-{place}": {"url": f"{url}/{place}", **ways[name], **more} for name, place in SOURCES}
    for name, source in sources.items():
        if "oauth2" in source:
            source["oauth2"] = {**token, "tokenUrl": f"{url}/{name.partition('-')[2]}"}
    sources["default"] = {"url": url}
    nomad = {"type": "nomad", "tokenFile": "nomad"}
    aws = {"type": "aws-asg", "region": "eu-west-1"}
    clouds: dict[str, Any] = {
        **{f"nomad-{place}": {**nomad, "address": f"{url}/{place}"} for place in NOMAD},
        **{f"aws-{place}": {**aws, "endpointUrl": f"{url}/{place}"} for place in AWS},
    }
    fed = [autoscaler(name, "vector(1)") for name in sources]
    for scaler in fed:
        scaler["metrics"][0]["external"]["query"]["prometheus"] = scaler["name"]
    held = [autoscaler(name, "vector(1)", name) for name in clouds]
    for scaler in held:
        if scaler["name"].startswith("nomad"):
            scaler["scaleTargetRef"]["name"] = f"{scaler['name']}/group"
    notify = {"webhook": {"url": f"{url}/busy/{SECRETS['webhook']}", "secretFile": "webhook-key"}}
    return write_config(folder, sources, fed + held, clouds, notify=notify)


def shown(daemon: RunningDaemon, config: Path) -> str:
    """Return all that users of a daemon see of its autoscalers."""
    names = [line["autoscaler"] for line in daemon.events("decision")]
    texts = [daemon.get("/").text, daemon.get("/api/v1/autoscalers").text, daemon.get("/metrics").text]
    for name in dict.fromkeys(names):
        path = f"/api/v1/autoscalers/{name}"
        texts += [daemon.get(each).text for each in (f"/autoscalers/{name}", path, f"{path}/events", f"{path}/explain")]
    for words in (["get", "-o", "wide"], ["events"], ["describe", "basic-page"], ["describe", "nomad-page"]):
        done = run_command(*words, "--server", daemon.url, state=config.parent / "state")
        assert done.returncode == 0, done.stderr
        texts.append(done.stdout)
    return "\n".join(texts)


def test_no_secret_is_shown_whatever_a_server_repeats(folder: Path, repeating: str) -> None:
    """A proxy that quotes the URL in its error is enough. Bodies, warnings, content types, reasons and errors of the
    libraries could contain one, as it is or encoded.
    """
    keys = {
        "AWS_ACCESS_KEY_ID": SECRETS["access"],
        "AWS_SECRET_ACCESS_KEY": SECRETS["key"],
        "AWS_SESSION_TOKEN": SECRETS["session"],
    }
    config = config_of(folder, repeating)
    with running_daemon(config, "--log.level=debug", service_manager=True, env=keys) as daemon:
        for name, place in (*SOURCES, *product(("nomad",), NOMAD), *product(("aws",), AWS)):
            daemon.wait_for("decision", autoscaler=f"{name}-{place}", level="warning")
        daemon.wait_for("notices_failed")
        text = shown(daemon, config)
        assert daemon.stop() == 0
        text += json.dumps(daemon.log, ensure_ascii=False) + str(daemon.told)
    assert "<secret>" in text
    found = [(name, form) for name, secret in SECRETS.items() for form in forms(secret) if form in text]
    assert not found, [text[max(0, text.index(form) - 300) :][:400] for _, form in found[:3]]


def test_the_log_has_no_secret_of_a_server_that_is_down(folder: Path) -> None:
    """Messages of errors quote the URL of the request."""
    for name in ("password", "token"):
        (folder / name).write_text(SECRETS[name])
    down = {"url": "http://127.0.0.1:1", "params": {"key": SECRETS["parameter"]}}
    login = {"username": "me", "passwordFile": "password"}
    sources = {"default": {**down, "basicAuth": login}, "api": {**down, "bearerTokenFile": "token"}}
    web, api = autoscaler("web", "vector(1)"), autoscaler("api", "vector(1)")
    api["metrics"][0]["external"]["query"]["prometheus"] = "api"
    with running_daemon(write_config(folder, sources, [web, api]), "--log.level=debug") as daemon:
        for name in ("web", "api"):
            daemon.wait_for("decision", autoscaler=name, level="warning", count=2)
        assert daemon.stop() == 0
        assert not [form for secret in SECRETS.values() for form in forms(secret) if form in str(daemon.log)]


def test_a_proxy_s_refusal_shows_neither_its_password_nor_what_it_repeats(folder: Path) -> None:
    """The password stands in the environment, and a proxy's status line may say anything."""

    def refuse(wire: Wire) -> None:
        line = " ".join(wire.read().decode().split())
        wire.answer(status=f"407 {line}")

    with scripted(refuse) as proxy:
        address = proxy.url.replace("http://", "http://me:password-of-a-proxy@")
        config = write_config(folder, "https://prometheus.invalid", [autoscaler("web", "vector(1)")])
        with running_daemon(config, env={"HTTPS_PROXY": address, "https_proxy": address}) as daemon:
            said = str(daemon.wait_for("decision", autoscaler="web", level="warning"))
            assert daemon.stop() == 0
    assert "Tunnel connection failed: 407" in said
    assert "password-of-a-proxy" not in said
    assert base64.b64encode(b"me:password-of-a-proxy").decode() not in said


def test_the_answers_of_a_repeating_server_differ(repeating: str) -> None:
    """The tests above would pass on a server that repeats nothing."""
    for place in PLACES:
        answer = requests.get(f"{repeating}/{place}/x?key=my-secret", timeout=10, allow_redirects=False)
        assert "my-secret" in f"{answer.text} {answer.headers} {answer.reason}"
