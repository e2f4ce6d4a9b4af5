"""A back end that Nomad's and Docker's adapters ask, and that answers whatever a case sends."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from tests.servers.scripted import Wire, scripted

Answer: TypeAlias = Callable[[Wire], None]


def empty(wire: Wire) -> None:
    """It knows nothing."""
    wire.answer(b"[]", "404 Not Found", b"Content-Type: application/json\r\n")


class Backend:
    """One server for both. `reply` may be changed at any moment."""

    def __init__(self) -> None:
        self.reply: Answer = empty
        self.port = 0

    def serve(self, wire: Wire) -> None:
        """The script of each connection."""
        while True:
            wire.read()
            self.reply(wire)


@contextmanager
def running() -> Iterator[Backend]:
    """One that knows nothing, until something is changed."""
    backend = Backend()
    with scripted(backend.serve) as at:
        backend.port = at.port
        yield backend
