"""Converts values of the model to bytes and back without loss.

Uses msgspec's MessagePack, which encodes the model's frozen dataclasses and checks types when it decodes. This module
adds what msgspec refuses: lone surrogates, which JSON answers and back ends can contain, and whole numbers beyond
64 bits. What rules remember and how they are configured are bytes by the rule's name, which the rule's own type reads.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, Final, Generic, TypeVar

import msgspec
import zstandard

from autoscaler.errors import StateError
from autoscaler.model import NO_MEMORIES, NO_RULES, ConfiguredRule, Memories, Rules, UnknownRule
from autoscaler.rules import rule_named

_T = TypeVar("_T")

_LEVEL: Final = 6
"""Level of zstd. Higher levels take several times as long for a few percent."""
_QUICK_LEVEL: Final = 1
"""Level for what a cycle writes: a sixth of the time for a tenth more."""
_MAX_UNPACKED_BYTES: Final = 2**28
"""Bytes that a block may unpack to. A damaged length must not allocate all memory."""
_ESCAPED: Final = b"\xc1"
"""First byte of a value with escaped texts and large numbers. MessagePack never uses it."""
_NUMBER: Final = "\0int"
"""Key of an escaped large number. A text that begins with NUL gets another NUL in front."""
_DAMAGED: Final = "the state is damaged, restore a backup"


class Binary(Generic[_T]):
    """Encodes and decodes one type of value."""

    def __init__(self, kind: Any) -> None:
        """`kind`: a type that msgspec supports, of plain values and frozen dataclasses."""
        self._kind = kind
        self._encode = msgspec.msgpack.Encoder(enc_hook=_of_rules).encode
        self._decode = msgspec.msgpack.Decoder(kind, dec_hook=_to_rules).decode

    def dump(self, value: _T) -> bytes:
        """Return the value as bytes. Equal values give equal bytes, except for the order of sets and mappings."""
        try:
            return self._encode(value)
        except (UnicodeEncodeError, OverflowError):
            return _ESCAPED + self._encode(
                _escape(msgspec.to_builtins(value, builtin_types=(bytes,), enc_hook=_of_rules))
            )

    def load(self, data: bytes) -> _T:
        """Return the value of `dump`. Raises StateError if this version cannot read it."""
        try:
            if data[:1] == _ESCAPED:
                plain = _unescape(msgspec.msgpack.decode(data[1:]))
                escaped: _T = msgspec.convert(plain, self._kind, dec_hook=_to_rules)
                return escaped
            value: _T = self._decode(data)
        except (msgspec.MsgspecError, ValueError, TypeError) as error:
            raise StateError(f"a recorded value cannot be read: {error}; {_DAMAGED}") from error
        return value


def _of_rules(value: Any) -> Any:
    """Return rules' settings or memories as bytes by the rule's name. An unknown rule's stay as they were read."""
    if isinstance(value, Rules):
        return {rule.name: _settings_of(rule) for rule in value}
    if isinstance(value, Memories):
        return {name: one if isinstance(one, bytes) else _binary(type(one)).dump(one) for name, one in value.of.items()}
    raise NotImplementedError(f"{type(value).__name__} is no value of the model")


def _settings_of(rule: ConfiguredRule) -> bytes:
    kind: Any = type(rule)
    return rule.settings if isinstance(rule, UnknownRule) else _binary(kind).dump(rule)


def _to_rules(kind: Any, value: Any) -> Any:
    if kind is Rules:
        return Rules([_rule(name, settings) for name, settings in _by_name(value)]) if value else NO_RULES
    if kind is Memories:
        return Memories({name: _memory(name, body) for name, body in _by_name(value)}) if value else NO_MEMORIES
    raise NotImplementedError(f"{kind} is no value of the model")


def _by_name(value: Any) -> Iterable[tuple[str, bytes]]:
    """Return the rules' bytes with the rules' names. Raises ValidationError if the value has another form."""
    found: dict[str, bytes] = msgspec.convert(value, dict[str, bytes], builtin_types=(bytes,))
    return found.items()


def _rule(name: str, settings: bytes) -> ConfiguredRule:
    kind: Any = rule_named(name)
    found: ConfiguredRule = UnknownRule(name, settings) if kind is None else _binary(kind).load(settings)
    return found


def _memory(name: str, body: bytes) -> msgspec.Struct | bytes:
    kind: Any = rule_named(name)
    if kind is None or kind.memory is None:
        return body
    found: msgspec.Struct = _binary(kind.memory).load(body)
    return found


@cache
def _binary(kind: Any) -> "Binary[Any]":
    return Binary(kind)


def _escape(value: Any) -> Any:
    """Return the value with every text as the Latin-1 reading of its UTF-8, and every large number as text."""
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
    """Turn any error of an autoscaler's recorded values into a StateError that names the autoscaler."""
    try:
        yield
    except StateError as error:
        raise StateError(f"autoscaler {name!r}: {error}") from error
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        raise StateError(f"autoscaler {name!r}: a recorded value cannot be read: {error!r}; {_DAMAGED}") from error


def pack(data: bytes, *, quickly: bool = False) -> bytes:
    """Return the data compressed, with a checksum. `quickly`: for a cycle, which should not wait."""
    level = _QUICK_LEVEL if quickly else _LEVEL
    return zstandard.ZstdCompressor(level=level, write_checksum=True).compress(data)


def unpack(data: bytes) -> bytes:
    """Return the data of `pack`. Raises StateError if it is damaged."""
    try:
        if zstandard.frame_content_size(data) > _MAX_UNPACKED_BYTES:
            raise StateError(f"a recorded value cannot be unpacked: its length is wrong; {_DAMAGED}")
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=_MAX_UNPACKED_BYTES)
    except zstandard.ZstdError as error:
        raise StateError(f"a recorded value cannot be unpacked: {error}; {_DAMAGED}") from error


def differences(values: Sequence[int]) -> list[int]:
    """Return the first value and the difference between neighbours. Evenly growing values then pack to few bytes."""
    return [*values[:1], *[after - before for before, after in pairwise(values)]]


def running_sums(steps: Sequence[int]) -> list[int]:
    """Return the values of `differences`."""
    return list(accumulate(steps))
