"""Asks workers over HTTP whether they are ready, concurrently and within a second."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

TIMEOUT_SECONDS = 1.0
"""As Kubernetes' probes: timeoutSeconds 1."""
_AT_ONCE = 64
_LONGEST_QUOTE: Final = 40
"""Bytes of a first line that is not HTTP."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a probe came to."""

    ready: bool
    got: str = ""
    """What it got instead of 2xx, as in "HTTP 404"; empty: it is ready."""
    starting: bool = False
    """Whether a worker that starts answers in this way, too: it does not listen yet, or says that it is busy."""


def probe(addresses: Mapping[str, tuple[int, str]]) -> dict[str, Answer]:
    """Return worker name -> the answer to GET of (port, path) on 127.0.0.1."""
    if not addresses:
        return {}
    return dict(zip(addresses, asyncio.run(_all(list(addresses.values()))), strict=True))


async def _all(addresses: Sequence[tuple[int, str]]) -> list[Answer]:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(port: int, path: str) -> Answer:
        async with gate:
            try:
                return _judged(await asyncio.wait_for(_first_line(port, path), TIMEOUT_SECONDS))
            except TimeoutError:
                return Answer(False, f"no answer within {TIMEOUT_SECONDS:g} s", starting=True)
            except ConnectionRefusedError:
                return Answer(False, "a refused connection", starting=True)
            except OSError as error:
                return Answer(False, f"a failed connection ({error.strerror or type(error).__name__})", starting=True)
            except ValueError:
                return Answer(False, "a first line without an end, which is not HTTP")

    return await asyncio.gather(*(one(port, path) for port, path in addresses))


async def _first_line(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        return await reader.readline()
    finally:
        writer.close()


def _judged(line: bytes) -> Answer:
    if not line:
        return Answer(False, "a closed connection without an answer", starting=True)
    words = line.split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        text = line[:_LONGEST_QUOTE].decode("latin-1").strip()
        return Answer(False, f"an answer that is not HTTP: {text!r}")
    status = int(words[1])
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return Answer(True)
    redirect = HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST
    got = f"HTTP {status}" + (", a redirect, which is not followed" if redirect else "")
    return Answer(False, got, starting=status == HTTPStatus.SERVICE_UNAVAILABLE)
