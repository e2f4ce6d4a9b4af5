"""A back end for Nomad's and Docker's adapters that gives the answers of a case."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from tests.servers.scripted import Wire, scripted

Answer: TypeAlias = Callable[[Wire], None]


def empty(wire: Wire) -> None:
    """Return the answer of an empty back end."""
    wire.answer(b"[]", "404 Not Found", b"Content-Type: application/json\r\n")


class Backend:
    """One server for both. A case may change `reply` at any moment."""

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
    """Run an empty back end, until a case changes it."""
    backend = Backend()
    with scripted(backend.serve) as at:
        backend.port = at.port
        yield backend
