"""Decodes JSON answers in bounded memory. A decoded `{},` takes 70 bytes, so a small answer may need much memory."""

from typing import Final, TypeVar

import msgspec

from autoscaler.net.errors import Malformed
from autoscaler.net.limits import MAX_ANSWER
from autoscaler.text import plain

_T = TypeVar("_T")
_ALWAYS_DECODED: Final = 2**20
"""Bytes. A smaller answer cannot take too much memory."""
_BYTES_EACH: Final = {b'"': 10, b",": 16, b"{": 40, b"[": 40}
"""Character -> bytes of the largest answer for each occurrence. Lists of Docker and Nomad have fewer.

A decoded string takes some 60 bytes of memory, an object 64 to 230, a list 70.
"""
_BEGINNING: Final = 256
"""Bytes of an answer in an error message."""


def decoded(body: bytes, wanted: type[_T], largest: int = MAX_ANSWER) -> _T:
    """Return the value as the msgspec type `wanted`. Decoding stops at the first value of another type.

    `largest`: the allowed bytes of the answer. Raises Malformed.
    """
    if len(body) > _ALWAYS_DECODED:
        for character, each in _BYTES_EACH.items():
            if body.count(character) > largest // each:
                raise Malformed("the answer holds more values than an answer of its size should")
    try:
        return msgspec.json.decode(body, type=wanted)
    except msgspec.ValidationError as error:  # valid JSON of another form
        problem = f"the answer is not of the form expected ({error})"
    except RecursionError:
        problem = "the answer is nested too deep"
    except (msgspec.DecodeError, UnicodeDecodeError):
        problem = "the answer is not JSON"
    raise Malformed(problem)


def beginning(body: bytes) -> str:
    """Return the beginning of an unexpected answer as one printable line."""
    return plain(" ".join(body[:_BEGINNING].decode(errors="replace").split()), _BEGINNING)
