"""Reads an answer's body within a bound on its decompressed bytes."""

import io
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from autoscaler.net.errors import Interrupted, TooLarge
from autoscaler.net.limits import in_mib
from autoscaler.net.lookup import positive

_CHUNK: Final = 2**16
_GZIP: Final = 31
"""zlib's `wbits` for gzip alone."""
_ENCODINGS: Final = {"": False, "identity": False, "gzip": True, "x-gzip": True}
"""Content-Encoding -> whether it is gzip."""

_MAX_ENCODING: Final = 40
"""Characters of a Content-Encoding that is shown."""


def read_body(raw: Any, largest: int, left: Callable[[], float]) -> bytes:
    """Return the decompressed body of a urllib3 response and release its connection.

    Raises TooLarge, Interrupted for invalid gzip, TimeoutError at the deadline, and urllib3's errors. The connection is
    then closed and the body dropped.
    """
    body = io.BytesIO()  # returns its content without a copy
    try:
        _read(raw, body, largest, left)
    except BaseException:
        body.close()  # the error's traceback would keep it
        raw.close()  # and the connection: late bytes must not count as the next answer
        raise
    raw.release_conn()
    return body.getvalue()


def _read(raw: Any, body: io.BytesIO, largest: int, left: Callable[[], float]) -> None:
    """Write the body's pieces. `largest` also bounds the received bytes: they may decompress to nothing."""
    encoding = raw.headers.get("Content-Encoding", "").strip().lower()
    packed = _ENCODINGS.get(encoding)
    if packed is None:
        shown = repr(encoding) if len(encoding) <= _MAX_ENCODING else "something else"  # a cut secret is not found
        raise Interrupted(f"its answer is encoded as {shown}; only gzip can be unpacked")
    unpack = zlib.decompressobj(_GZIP) if packed else None
    received = 0
    while chunk := raw.read1(_CHUNK, decode_content=False):
        received += len(chunk)
        for piece in _pieces(unpack, chunk) if unpack else (chunk,):
            body.write(piece)
            if max(body.tell(), received) > largest:
                raise TooLarge(f"answered with more than {in_mib(largest)}")
            positive(left())
    if unpack is not None and received and not unpack.eof:
        raise Interrupted("its answer was cut short")


def _pieces(unpack: Any, chunk: bytes) -> Iterator[bytes]:
    """Yield the decompressed pieces of these bytes. Raises Interrupted, also for bytes after the end."""
    while chunk:
        if unpack.eof:
            raise Interrupted("its answer is packed in more than one part")
        try:
            yield unpack.decompress(chunk, _CHUNK)
        except zlib.error:
            raise Interrupted("its answer cannot be unpacked: it is not gzip") from None
        chunk = unpack.unconsumed_tail or unpack.unused_data
