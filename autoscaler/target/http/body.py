"""Reads the body of an answer, within a number of bytes that counts what it unpacks to."""

import zlib
from collections.abc import Callable
from typing import Any, Final

from autoscaler.target.http.errors import Interrupted, TooLarge
from autoscaler.target.http.limits import in_mib
from autoscaler.target.http.lookup import positive

_CHUNK: Final = 2**16
_GZIP: Final = 31
"""zlib's `wbits` for gzip, and nothing else."""
_ENCODINGS: Final = {"": False, "identity": False, "gzip": True, "x-gzip": True}
"""Content-Encoding -> whether it is unpacked. We ask for gzip alone."""


def read_body(raw: Any, largest: int, left: Callable[[], float]) -> bytes:
    """The body of a urllib3 response, unpacked. Its connection may be used again.

    Raises TooLarge, Interrupted for what cannot be unpacked, TimeoutError at the deadline, and what urllib3 raises; the
    connection is closed then, and nothing of the body kept.
    """
    body = bytearray()
    try:
        _read(raw, body, largest, left)
    except BaseException:
        body.clear()  # the error's traceback would keep it
        raw.close()  # and the connection with it: what comes late must not be taken for another answer
        raise
    raw.release_conn()
    return bytes(body)


def _read(raw: Any, body: bytearray, largest: int, left: Callable[[], float]) -> None:
    encoding = raw.headers.get("Content-Encoding", "").strip().lower()
    packed = _ENCODINGS.get(encoding)
    if packed is None:
        raise Interrupted(f"its answer is encoded as {encoding[:40]!r}; only gzip was asked for")
    stream = None
    while chunk := raw.read1(_CHUNK, decode_content=False):
        while chunk:
            if packed:
                stream = stream or zlib.decompressobj(_GZIP)
                body += _unpacked(stream, chunk, largest + 1 - len(body))
                chunk, stream = stream.unused_data, None if stream.eof else stream
            else:
                body += chunk
                chunk = b""
            if len(body) > largest:
                raise TooLarge(f"answered with more than {in_mib(largest)}")
            positive(left())
    if stream is not None:
        raise Interrupted("its answer was cut short")


def _unpacked(stream: Any, chunk: bytes, most: int) -> bytes:
    try:
        content: bytes = stream.decompress(chunk, most)
    except zlib.error:
        raise Interrupted("its answer cannot be unpacked: it is not gzip") from None
    return content
