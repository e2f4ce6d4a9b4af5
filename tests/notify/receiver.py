"""A receiver of notices: a real HTTP server that verifies each signature and answers as a test says."""

import base64
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Final

from autoscaler.config.settings import Webhook
from tests.servers.web import serving

KEY: Final = b"a key of thirty-two bytes, so so"


class Receiver:
    """The notices that were received, in order. Each request uses one of `answers`; without one it is answered 204."""

    def __init__(self) -> None:
        self.url = ""
        self.events: list[dict[str, Any]] = []
        """The notices whose signature is correct."""
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

    def take(self, headers: Any, body: bytes) -> None:
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        wanted = base64.b64encode(hmac.new(KEY, signed, sha256).digest()).decode()
        event = json.loads(body)
        if headers["webhook-signature"] == f"v1,{wanted}" and event["id"] == headers["webhook-id"]:
            self.events.append(event)
        else:
            self.forged += 1


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver on a free port."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.take(self.headers, self.rfile.read(int(self.headers["Content-Length"])))
            answer = receiver.answers.pop(0) if receiver.answers else 204
            with suppress(OSError):  # the daemon has closed the connection
                self._answer(answer)

        def _answer(self, answer: int | str) -> None:
            if answer == "hang":
                receiver.released.wait()
                return
            self.send_response(302 if answer == "redirect" else answer if isinstance(answer, int) else 200)
            if answer == "redirect":
                self.send_header("Location", f"{receiver.url}/elsewhere")
            if answer in ("drip", "huge"):
                self.send_header("Content-Length", str(2**30))
            self.end_headers()
            while answer == "drip" and not receiver.released.wait(0.2):
                self.wfile.write(b"x")
            for _ in range(2**10 if answer == "huge" else 0):
                self.wfile.write(b"x" * 2**20)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with serving(Handler) as url:
        receiver.url = url
        try:
            yield receiver
        finally:
            receiver.released.set()
