"""Asks workers over HTTP whether they are ready, concurrently and within a second."""

import asyncio
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

TIMEOUT_SECONDS = 1.0
"""As Kubernetes' probes: timeoutSeconds 1."""
_AT_ONCE = 64
_MAX_QUOTE: Final = 40
"""Bytes of a first line that is not HTTP."""


def probe(addresses: Mapping[str, tuple[int, str]]) -> dict[str, str]:
    """Return worker name -> what GET of (port, path) on 127.0.0.1 gets instead of 2xx; empty: 2xx."""
    if not addresses:
        return {}
    return dict(zip(addresses, asyncio.run(_all(list(addresses.values()))), strict=True))


async def _all(addresses: Sequence[tuple[int, str]]) -> list[str]:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(port: int, path: str) -> str:
        async with gate:
            try:
                return _judged(await asyncio.wait_for(_first_line(port, path), TIMEOUT_SECONDS))
            except TimeoutError:
                return f"no answer within {TIMEOUT_SECONDS:g} s"
            except ConnectionRefusedError:
                return "a refused connection"
            except OSError as error:
                return f"a failed connection ({error.strerror or type(error).__name__})"
            except ValueError:
                return "a first line without an end, which is not HTTP"

    return await asyncio.gather(*(one(port, path) for port, path in addresses))


async def _first_line(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        return await reader.readline()
    finally:
        writer.close()


def _judged(line: bytes) -> str:
    if not line:
        return "a closed connection without an answer"
    words = line.split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        text = line[:_MAX_QUOTE].decode("latin-1").strip()
        return f"an answer that is not HTTP: {text!r}"
    status = int(words[1])
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return ""
    redirect = HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST
    return f"HTTP {status}" + (", a redirect, which is not followed" if redirect else "")
