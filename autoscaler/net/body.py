"""Reads an answer's body within a bound on its decompressed bytes."""

import io
from collections.abc import Callable
from typing import Any, Final

from urllib3.exceptions import DecodeError

from autoscaler.net.errors import Interrupted, TooLarge
from autoscaler.net.limits import in_mib
from autoscaler.net.lookup import positive

_CHUNK: Final = 2**16
_ENCODINGS: Final = ("", "identity", "gzip", "x-gzip")
"""The values of Content-Encoding that are read. urllib3 knows others, whose libraries may be absent."""
_LONGEST_ENCODING: Final = 40
"""Characters of a Content-Encoding that is shown."""


def read_body(raw: Any, largest: int, left: Callable[[], float]) -> bytes:
    """Return the decompressed body of a urllib3 response and release its connection.

    Raises TooLarge, Interrupted for invalid gzip, TimeoutError at the deadline, and urllib3's errors. The connection is
    then closed and the body dropped.
    """
    body = io.BytesIO()  # returns its content without a copy
    try:
        _read(raw, body, largest, left)
    except BaseException as error:
        body.close()  # the error's traceback would keep it
        raw.close()  # and the connection: late bytes must not count as the next answer
        if isinstance(error, DecodeError):
            raise Interrupted("its answer cannot be unpacked: it is not gzip") from None
        raise
    raw.release_conn()
    return body.getvalue()


def _read(raw: Any, body: io.BytesIO, largest: int, left: Callable[[], float]) -> None:
    encoding = raw.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        shown = repr(encoding) if len(encoding) <= _LONGEST_ENCODING else "something else"  # a cut secret is not found
        raise Interrupted(f"its answer is encoded as {shown}; only gzip can be unpacked")
    while chunk := raw.read1(_CHUNK, decode_content=True):  # urllib3 unpacks no more than it returns
        body.write(chunk)
        if body.tell() > largest:
            raise TooLarge(f"answered with more than {in_mib(largest)}")
        positive(left())
