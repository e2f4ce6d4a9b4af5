"""Values of the model <-> bytes, exactly.

MessagePack by msgspec, which takes the model's frozen dataclasses as they are and checks types when it reads. What it
does not take is handled here: lone surrogates, which JSON answers and foreign back ends may bring, and whole numbers
beyond 64 bits.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import Any, Final, Generic, TypeVar

import msgspec
import zstandard

from autoscaler.errors import StateError

_T = TypeVar("_T")

_LEVEL: Final = 6
"""Of zstd: higher ones take several times as long for a few percent."""
_LARGEST: Final = 2**28
"""Bytes that one block may unpack to: a damaged length must not ask for all memory."""
_ESCAPED: Final = b"\xc1"
"""A byte that MessagePack never begins with: what follows has its texts and large numbers escaped."""
_NUMBER: Final = "\0int"
"""Stands before a large number; a text of ours that begins with NUL has another one before it."""
_DAMAGED: Final = "the state is damaged, restore a backup"


class Binary(Generic[_T]):
    """Writes and reads one type of value."""

    def __init__(self, kind: Any) -> None:
        """`kind`: a type that msgspec knows, of plain values and frozen dataclasses."""
        self._kind = kind
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(kind).decode

    def dump(self, value: _T) -> bytes:
        """Equal values give equal bytes, but for the order of sets and mappings."""
        try:
            return self._encode(value)
        except (UnicodeEncodeError, OverflowError):
            return _ESCAPED + self._encode(_escape(msgspec.to_builtins(value)))

    def load(self, data: bytes) -> _T:
        """The value that was dumped. Raises StateError for what this version cannot read."""
        try:
            if data[:1] == _ESCAPED:
                plain = _unescape(msgspec.msgpack.decode(data[1:]))
                escaped: _T = msgspec.convert(plain, self._kind)
                return escaped
            value: _T = self._decode(data)
        except (msgspec.MsgspecError, ValueError, TypeError) as error:
            raise StateError(f"a recorded value cannot be read: {error}; {_DAMAGED}") from error
        return value


def _escape(value: Any) -> Any:
    """Every text as the Latin-1 reading of its UTF-8, which holds lone surrogates; every large number as text."""
    if isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass").decode("latin-1")
        return f"\0{text}" if text.startswith("\0") else text
    if isinstance(value, dict):
        return {_escape(key): _escape(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_escape(item) for item in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return {_NUMBER: str(value)}
    return value


def _unescape(value: Any) -> Any:
    if isinstance(value, str):
        return value.removeprefix("\0").encode("latin-1").decode("utf-8", "surrogatepass")
    if isinstance(value, dict):
        if _NUMBER in value:
            return int(value[_NUMBER])
        return {_unescape(key): _unescape(item) for key, item in value.items()}
    return [_unescape(item) for item in value] if isinstance(value, list) else value


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Make whatever is wrong with what is recorded of an autoscaler a StateError that names it."""
    try:
        yield
    except StateError as error:
        raise StateError(f"autoscaler {name!r}: {error}") from error
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        raise StateError(f"autoscaler {name!r}: a recorded value cannot be read: {error!r}; {_DAMAGED}") from error


def pack(data: bytes) -> bytes:
    """Compressed, with a checksum."""
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(data)


def unpack(data: bytes) -> bytes:
    """What was packed. Raises StateError when it is damaged."""
    try:
        if zstandard.frame_content_size(data) > _LARGEST:
            raise StateError(f"a recorded value cannot be unpacked: its length is wrong; {_DAMAGED}")
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=_LARGEST)
    except zstandard.ZstdError as error:
        raise StateError(f"a recorded value cannot be unpacked: {error}; {_DAMAGED}") from error


def differences(values: Sequence[int]) -> list[int]:
    """The first value, then each one's step from the one before: what grows evenly packs to nearly nothing."""
    return [*values[:1], *[after - before for before, after in pairwise(values)]]


def running_sums(steps: Sequence[int]) -> list[int]:
    """The values of `differences`."""
    return list(accumulate(steps))
