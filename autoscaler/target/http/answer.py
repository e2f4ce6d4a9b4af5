"""A JSON answer, decoded, in memory of a few times its size: each `{},` takes 70 bytes once it is decoded."""

from typing import Final, TypeVar

import msgspec

from autoscaler.target.http.errors import Malformed
from autoscaler.target.http.limits import LARGEST_ANSWER
from autoscaler.text import plain

_T = TypeVar("_T")
_ALWAYS_DECODED: Final = 2**20
"""Bytes: what so little can come to harms nobody."""
_BYTES_EACH: Final = {b'"': 10, b",": 16, b"{": 40, b"[": 40}
"""What an answer of the largest size may have one of in so many bytes, as no list of Docker's or Nomad's has.

Decoded, a string takes some 60 bytes of memory, an object 64 to 230, a list 70.
"""
_BEGINNING: Final = 256
"""Bytes of an answer that a message quotes."""


def decoded(body: bytes, wanted: type[_T], largest: int = LARGEST_ANSWER) -> _T:
    """The value, of the type `wanted` as msgspec knows types: what is of another is refused where that begins.

    `largest`: bytes that the answer was allowed. Raises Malformed.
    """
    if len(body) > _ALWAYS_DECODED:
        for character, each in _BYTES_EACH.items():
            if body.count(character) > largest // each:
                raise Malformed("the answer holds more values than an answer of its size should")
    try:
        return msgspec.json.decode(body, type=wanted)
    except msgspec.ValidationError as error:  # JSON, of another form
        problem = f"the answer is not of the form expected ({error})"
    except RecursionError:
        problem = "the answer is nested too deep"
    except (msgspec.DecodeError, UnicodeDecodeError):
        problem = "the answer is not JSON"
    raise Malformed(problem)


def beginning(body: bytes) -> str:
    """Of an answer that nobody expected: one printable line, for a message."""
    return plain(" ".join(body[:_BEGINNING].decode(errors="replace").split()), _BEGINNING)
