"""Requests from other machines, as the guard sees them: their address cannot be made up on loopback."""

import asyncio
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from autoscaler.config.settings import WebSettings
from autoscaler.web.guard import Guard
from tests.documents.lives import At
from tests.web.serving import Logged


async def ok(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def status(method: str, client: str) -> int:
    """What a request from an address is answered, without a web configuration."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "scheme": "http",
        "path": "/",
        "headers": [(b"host", b"10.0.0.1:9797")],
        "client": (client, 40000),
        "state": {},
    }
    asyncio.run(Guard(ok, None, WebSettings(), At(), "0.0.0.0", Logged())(scope, receive, send))
    found: int = sent[0]["status"]
    return found


@pytest.mark.parametrize(
    "client",
    ["10.0.0.2", "203.0.113.5", "2001:db8::1", "::ffff:10.0.0.2", "not an address", "127.0.0.1", "127.8.8.8", "::1"],
)
def test_an_address_reads_and_changes_nothing(client: str) -> None:
    """A proxy on this machine lends its own address to every client."""
    assert status("GET", client) == 200
    assert status("POST", client) == 403
