"""A receiver of notices: a real HTTP server that verifies each signature and answers as a test says."""

import base64
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from autoscaler.config.settings import Webhook
from tests.servers.web import Answer, Request, answering

KEY: Final = b"a key of thirty-two bytes, so so"
_VAST: Final = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (2**30)
"""The head of an answer of 1 GiB."""


class Receiver:
    """The notices that were received, in order. Each request uses one of `answers`; without one it is answered 204."""

    def __init__(self) -> None:
        self.url = ""
        self.events: list[dict[str, Any]] = []
        """The notices whose signature is correct."""
        self.content_types: list[str] = []
        """Of all requests."""
        self.forged = 0
        """The number of requests whose signature is wrong."""
        self.answers: list[int | str] = []
        """Statuses, or `hang`, `drip` (one byte at a time), `huge` (1 GiB) or `redirect`."""
        self.released = threading.Event()
        """Ends the requests that hang."""

    @property
    def types(self) -> list[str]:
        return [each["type"].removeprefix("prometheus-autoscaler.") for each in self.events]

    def webhook(self, folder: Path) -> Webhook:
        secret = folder / "secret"
        secret.write_text(base64.b64encode(KEY).decode() + "\n")
        return Webhook(self.url + "/notices?token=t0ken", secret)

    def take(self, headers: Any, body: str) -> None:
        self.content_types.append(headers["content-type"])
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}".encode()
        wanted = base64.b64encode(hmac.new(KEY, signed, sha256).digest()).decode()
        event = json.loads(body)
        if headers["webhook-signature"] == f"v1,{wanted}" and event["id"] == headers["webhook-id"]:
            self.events.append(event)
        else:
            self.forged += 1

    def answer(self, request: Request) -> Answer | None:
        self.take(request.headers, request.body)
        match self.answers.pop(0) if self.answers else 204:
            case "hang":
                self.released.wait()
                request.drop()
            case "drip":
                request.trickle(_VAST, b"x")
            case "huge":
                request.trickle(_VAST, b"x" * 2**20)
            case "redirect":
                return Answer(302, b"", {"Location": f"{self.url}/elsewhere"})
            case status:
                return Answer(int(status), b"")
        return None


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver on a free port."""
    receiver = Receiver()
    with answering(receiver.answer) as receiver.url:
        try:
            yield receiver
        finally:
            receiver.released.set()
