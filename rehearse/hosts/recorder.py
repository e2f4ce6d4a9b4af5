"""A reverse proxy that notes each write of a daemon to a back end, one for each daemon and back end.

It notes the time of a write's request and of its answer, and a test can hold either. A request that
arrived here is delivered even if its daemon is dead meanwhile, as in a network. A test may also let
a request get lost, as of a daemon that died before it was sent.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple, TypeAlias
from urllib.parse import parse_qs, unquote

from tests.servers.faults import Proxying
from tests.servers.web import serving


class Order(NamedTuple):
    """The target and the size of a write."""

    target: str
    """`nomad/JOB` or `aws/GROUP`."""
    size: int
    decision: str | None
    """Its id, if the back end gets it."""


Reader: TypeAlias = Callable[[str, str, bytes], "Order | Sight | None"]
"""Method, path and body of a request -> its write, or its read of one target; None: neither."""
CHECKED: Final = "X-Rehearsal-Checked"
"""The header of a daemon's request with the last time at which its thread read a clock (`launched`)."""


class Sight(NamedTuple):
    """A read of one target: an adapter's last look before a write, or an observation of a single target."""

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
    """Auto Scaling API Reference, DescribeAutoScalingGroups and SetDesiredCapacity."""
    asked = parse_qs(body.decode())
    if asked.get("Action") == ["DescribeAutoScalingGroups"]:
        names = [values[0] for key, values in asked.items() if key.startswith("AutoScalingGroupNames.")]
        return Sight(f"aws/{names[0]}") if len(names) == 1 else None
    if asked.get("Action") != ["SetDesiredCapacity"]:
        return None
    return Order(f"aws/{asked['AutoScalingGroupName'][0]}", int(asked["DesiredCapacity"][0]), None)


@dataclass(slots=True)
class Write:
    """A requested write. Times are microseconds since 1970."""

    host: int
    order: Order
    called: int
    checked: int | None = None
    """When its thread last read a clock before the request; None: not since the answer to the previous request."""
    looked: int | None = None
    """When its daemon last read the target before it; None: the back end compares."""
    forwarded: int | None = None
    """When it was forwarded to the back end; None: it was not."""
    status: int | None = None
    """The status of the back end's answer; None: none yet."""
    answered: int | None = None
    """The time of the answer."""
    lost: bool = False
    """It never reaches the back end."""

    @property
    def accepted(self) -> bool:
        """Whether it took effect."""
        return self.status == 200

    @property
    def over(self) -> bool:
        """Return whether it can have no further effect."""
        return self.lost or self.answered is not None


@dataclass(slots=True)
class Recorder:
    """One that runs."""

    url: str
    host: int
    read: Reader
    on_request: Callable[[Write], None] | None = None
    """Called when a write has arrived, before it is forwarded. It may set `lost`."""
    on_sight: Callable[[], None] | None = None
    """Called when the back end has answered a read of one target, before the daemon gets the answer."""
    on_answer: Callable[[Write], None] | None = None
    """Called when the back end has answered a write, before the daemon gets the answer."""
    writes: list[Write] = field(default_factory=list)
    sights: dict[str, int] = field(default_factory=dict)
    """Target -> the time of its last single read."""
    hanging: threading.Event | None = None
    """No request is forwarded until this event is set."""

    @contextmanager
    def hangs(self) -> Iterator[None]:
        """Forward nothing meanwhile, as if the back end hung."""
        self.hanging = over = threading.Event()
        try:
            yield
        finally:
            self.hanging = None
            over.set()


_MICROS: Final = 1_000_000


def now_micros() -> int:
    """Return the time by the wall clock of this machine, which PostgreSQL uses, too."""
    return time.time_ns() * _MICROS // 10**9


class _Handler(Proxying):
    """The handler of one proxy, which subclasses it with its recorder and its back end."""

    recorder: ClassVar[Recorder]

    def take(self, body: bytes) -> None:
        order = self.recorder.read(self.command, self.path, body)
        if isinstance(order, Order):
            self._write(order, body)
            return
        if (hanging := self.recorder.hanging) is not None:
            hanging.wait()
        if order is not None:
            self.recorder.sights[order.target] = now_micros()
        answer = self.forwarded(body)
        if order is not None and (on_sight := self.recorder.on_sight) is not None:
            on_sight()
        self.answer(*answer)

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
        if (hanging := self.recorder.hanging) is not None:
            hanging.wait()
        write.forwarded = now_micros()
        answer = self.forwarded(body)
        write.answered, write.status = now_micros(), answer[0]
        if (on_answer := self.recorder.on_answer) is not None:
            on_answer(write)
        self.answer(*answer)


@contextmanager
def running_recorder(host: int, backend: str, read: Reader) -> Iterator[Recorder]:
    """Run a proxy before the HTTP API at `backend`, for the daemon of this number."""
    recorder = Recorder("", host, read)

    class Handler(_Handler):
        pass

    Handler.recorder, Handler.backend = recorder, backend
    with serving(Handler) as recorder.url:
        yield recorder
