"""A reverse proxy that notes each write of a daemon to a back end, one for each daemon and back end.

It notes when a write was called, what the back end said and when, and lets a test hold it at either moment. What has
arrived here is delivered, also when the daemon that sent it is dead meanwhile: so a network does. A test may also have
a request lost, as of a daemon that died before it was sent.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias
from urllib.parse import parse_qs, unquote

from tests.servers.faults import forward
from tests.servers.web import serving


class Order(NamedTuple):
    """What a write asks for."""

    target: str
    """`nomad/JOB` or `aws/GROUP`."""
    size: int
    decision: str | None
    """Its id, where the back end is told it."""


Reader: TypeAlias = Callable[[str, str, bytes], "Order | Sight | None"]
"""Method, path and body -> the write that a request is, or the last look before one; None: it is neither."""
CHECKED: Final = "X-Rehearsal-Checked"
"""The header of a daemon's request that says when the thread that sends it looked at a clock last (`launched`)."""


class Sight(NamedTuple):
    """A look at one target alone, as an adapter takes it just before a write."""

    target: str


def read_nomad(method: str, path: str, body: bytes) -> Order | Sight | None:
    """Nomad's API, "Scale Task Group". Without a count it is a record of a decision."""
    path = path.partition("?")[0]
    if method != "POST" or not path.endswith("/scale"):
        return None
    asked = json.loads(body)
    if "Count" not in asked:
        return None
    job = unquote(path.removeprefix("/v1/job/").removesuffix("/scale"))
    return Order(f"nomad/{job}", asked["Count"], asked["Meta"]["decision"])


def read_aws(method: str, path: str, body: bytes) -> Order | Sight | None:
    """Auto Scaling API Reference, DescribeAutoScalingGroups and SetDesiredCapacity.

    The adapter names MaxRecords where it observes, and not where it looks at the one group that it is about to write.
    """
    asked = parse_qs(body.decode())
    if asked.get("Action") == ["DescribeAutoScalingGroups"]:
        names = [values[0] for key, values in asked.items() if key.startswith("AutoScalingGroupNames.")]
        return Sight(f"aws/{names[0]}") if len(names) == 1 and "MaxRecords" not in asked else None
    if asked.get("Action") != ["SetDesiredCapacity"]:
        return None
    return Order(f"aws/{asked['AutoScalingGroupName'][0]}", int(asked["DesiredCapacity"][0]), None)


@dataclass(slots=True)
class Write:
    """One that was asked for. Times are microseconds since 1970."""

    host: int
    order: Order
    called: int
    checked: int | None = None
    """When its daemon looked at a clock last before it sent this; None: not since the answer to the request before."""
    looked: int | None = None
    """When its daemon last looked at the target before it; None: where the back end compares, it need not."""
    forwarded: int | None = None
    """When it was passed on to the back end; None: it was not."""
    status: int | None = None
    """What the back end answered; None: it has not."""
    answered: int | None = None
    """When it did."""
    lost: bool = False
    """It never reaches the back end."""

    @property
    def accepted(self) -> bool:
        """Whether it took effect."""
        return self.status == 200

    @property
    def over(self) -> bool:
        """Whether nothing will come of it any more."""
        return self.lost or self.answered is not None


@dataclass(slots=True)
class Recorder:
    """One that runs."""

    url: str
    host: int
    read: Reader
    on_request: Callable[[Write], None] | None = None
    """Called when a write has arrived, before it is forwarded, unless that makes it `lost`."""
    on_sight: Callable[[], None] | None = None
    """Called when the back end has answered a last look before a write, before the daemon hears of it."""
    on_answer: Callable[[Write], None] | None = None
    """Called when the back end has answered it, before the daemon hears of it."""
    writes: list[Write] = field(default_factory=list)
    sights: dict[str, int] = field(default_factory=dict)
    """Target -> when it was looked at last, alone."""


_MICROS: Final = 1_000_000


def now_micros() -> int:
    """By the wall clock of this machine, which is PostgreSQL's as well."""
    return time.time_ns() * _MICROS // 10**9


class _Handler(BaseHTTPRequestHandler):
    """Subclassed for each proxy with the two attributes."""

    recorder: ClassVar[Recorder]
    backend: ClassVar[str]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        order = self.recorder.read(self.command, self.path, body)
        if isinstance(order, Order):
            self._write(order, body)
            return
        if order is not None:
            self.recorder.sights[order.target] = now_micros()
        answer = forward(self.backend, self.command, self.path, dict(self.headers), body)
        if order is not None and (on_sight := self.recorder.on_sight) is not None:
            on_sight()
        self._answer(*answer)

    def _write(self, order: Order, body: bytes) -> None:
        checked = self.headers.get(CHECKED)
        write = Write(
            self.recorder.host,
            order,
            now_micros(),
            None if checked is None else int(checked),
            self.recorder.sights.get(order.target),
        )
        self.recorder.writes.append(write)
        if (on_request := self.recorder.on_request) is not None:
            on_request(write)
        if write.lost:
            self.close_connection = True
            return
        write.forwarded = now_micros()
        answer = forward(self.backend, self.command, self.path, dict(self.headers), body)
        write.answered, write.status = now_micros(), answer[0]
        if (on_answer := self.recorder.on_answer) is not None:
            on_answer(write)
        self._answer(*answer)

    do_DELETE = do_POST = do_PUT = do_GET  # noqa: N815 - the names http.server looks for

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nothing: pytest shows what matters."""


@contextmanager
def running_recorder(host: int, backend: str, read: Reader) -> Iterator[Recorder]:
    """In front of the HTTP API at `backend`, for the daemon of this number."""
    recorder = Recorder("", host, read)

    class Handler(_Handler):
        pass

    Handler.recorder, Handler.backend = recorder, backend
    with serving(Handler) as recorder.url:
        yield recorder
