"""Asks workers over HTTP whether they are ready, concurrently and within a second."""

import asyncio
from collections.abc import Mapping, Sequence

TIMEOUT_SECONDS = 1.0
"""As Kubernetes' probes: timeoutSeconds 1."""
_AT_ONCE = 64


def probe(addresses: Mapping[str, tuple[int, str]]) -> dict[str, bool]:
    """Return worker name -> whether GET of (port, path) on 127.0.0.1 answered 2xx."""
    if not addresses:
        return {}
    return dict(zip(addresses, asyncio.run(_all(list(addresses.values()))), strict=True))


async def _all(addresses: Sequence[tuple[int, str]]) -> list[bool]:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(port: int, path: str) -> bool:
        async with gate:
            try:
                return await asyncio.wait_for(_is_ready(port, path), TIMEOUT_SECONDS)
            except (OSError, TimeoutError, ValueError):  # ValueError: a first line without an end
                return False

    return await asyncio.gather(*(one(port, path) for port, path in addresses))


async def _is_ready(port: int, path: str) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        words = (await reader.readline()).split()
    finally:
        writer.close()
    return len(words) > 1 and words[0].startswith(b"HTTP/") and words[1].isdigit() and 200 <= int(words[1]) < 300
