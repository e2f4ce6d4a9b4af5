"""Values of the model <-> JSON, exactly: classes of errors and outcomes, and times to the microsecond.

Converters are built once a type from its annotations. A field that has its default is left out, so that values stay
small and a field that is added later (with a default) reads old rows.
"""

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Final, Generic, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from autoscaler.errors import StateError

_T = TypeVar("_T")
_Convert: TypeAlias = Callable[[Any], Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_JSON: Final = json.JSONEncoder(separators=(",", ":"))
_DAMAGED: Final = "the state is damaged, restore a backup"


def to_micros(at: datetime) -> int:
    """Microseconds since 1970 of an aware time: how times are kept, in JSON and in columns."""
    return (at - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The aware UTC time of `to_micros`."""
    return _EPOCH + timedelta(microseconds=micros)


class Codec(Generic[_T]):
    """Dumps and loads one type of value."""

    def __init__(self, kind: type[_T]) -> None:
        hint: Any = kind
        self._encode, self._decode = _converters(hint)

    def dump(self, value: _T) -> bytes:
        """Compact JSON, ASCII; equal values give equal bytes."""
        return _JSON.encode(self._encode(value)).encode("ascii")

    def load(self, data: bytes) -> _T:
        """The value that was dumped. Raises StateError for what this version cannot read."""
        try:
            value: _T = self._decode(json.loads(data))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise StateError(f"a recorded value cannot be read: {type(error).__name__}: {error}; {_DAMAGED}") from error
        return value


def pack(data: bytes, dictionary: bytes = b"") -> bytes:
    """Compressed. A `dictionary` of nearly the same content makes it several times smaller still."""
    if not dictionary:
        return zlib.compress(data, level=1)  # higher levels take twice the time for a tenth of the size
    squeeze = zlib.compressobj(level=1, zdict=dictionary)
    return squeeze.compress(data) + squeeze.flush()


def unpack(data: bytes, dictionary: bytes = b"") -> bytes:
    """What was packed, given the same `dictionary`. Raises StateError when it is damaged."""
    expand = zlib.decompressobj(zdict=dictionary)
    try:
        return expand.decompress(data) + expand.flush()
    except zlib.error as error:
        raise StateError(f"a recorded value cannot be unpacked: {error}; {_DAMAGED}") from error


def _same(value: Any) -> Any:
    return value


_PLAIN: Final[dict[Any, tuple[_Convert, _Convert]]] = {
    **dict.fromkeys((str, int, float, bool), (_same, _same)),
    datetime: (to_micros, from_micros),
    timedelta: (lambda value: value // _MICROSECOND, lambda value: timedelta(microseconds=value)),
}


@cache
def _converters(hint: Any) -> tuple[_Convert, _Convert]:
    """How a value of the annotated type becomes what `json` takes, and back."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return _union(tuple(member for member in arguments if member is not NoneType))
    if is_dataclass(kind):
        return _dataclass(kind, arguments)
    if issubclass(kind, Enum):
        return _same, kind  # our enums are texts, which `json` writes as they are
    if issubclass(kind, Exception):
        return str, kind
    return _collection(kind, arguments)


def _collection(kind: type, arguments: tuple[Any, ...]) -> tuple[_Convert, _Convert]:
    if kind is tuple:
        return _tuple(arguments)
    if kind is frozenset:
        return sorted, frozenset
    if issubclass(kind, Mapping):
        return _mapping(arguments[1])
    raise TypeError(f"no JSON form is known for {kind!r}")


def _tuple(arguments: tuple[Any, ...]) -> tuple[_Convert, _Convert]:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        encode, decode = _converters(arguments[0])
        if encode is _same:
            return _same, tuple if decode is _same else lambda value: tuple(map(decode, value))
        return lambda value: [encode(item) for item in value], lambda value: tuple(map(decode, value))
    pairs = [_converters(kind) for kind in arguments]
    return (
        lambda value: [pair[0](item) for pair, item in zip(pairs, value, strict=True)],
        lambda value: tuple(pair[1](item) for pair, item in zip(pairs, value, strict=True)),
    )


def _mapping(kind: Any) -> tuple[_Convert, _Convert]:
    encode, decode = _converters(kind)
    return (
        lambda value: {key: encode(item) for key, item in value.items()},
        lambda value: {key: decode(item) for key, item in value.items()},
    )


def _union(kinds: tuple[Any, ...]) -> tuple[_Convert, _Convert]:
    """One kind or None; several kinds carry their class's name, errors that of the nearest class of our tree."""
    if len(kinds) == 1 and not issubclass(get_origin(kinds[0]) or kinds[0], Exception):
        encode, decode = _converters(kinds[0])
        if encode is _same and decode is _same:
            return _same, _same
        return (
            lambda value: None if value is None else encode(value),
            lambda value: None if value is None else decode(value),
        )
    classes = {member.__name__: _converters(member) for kind in kinds for member in _family(kind)}

    def encode_tagged(value: Any) -> Any:
        if value is None:
            return None
        name = next(parent.__name__ for parent in type(value).__mro__ if parent.__name__ in classes)
        return [name, classes[name][0](value)]

    def decode_tagged(value: Any) -> Any:
        return None if value is None else classes[value[0]][1](value[1])

    return encode_tagged, decode_tagged


def _family(kind: Any) -> list[Any]:
    """A class, or an error and all the errors under it that this project defines."""
    if kind in (str, int, float, bool) or not issubclass(kind, Exception):
        return [kind]
    below = [member for child in kind.__subclasses__() for member in _family(child)]
    return [kind, *(member for member in below if member.__module__ == kind.__module__)]


def _dataclass(kind: Any, arguments: tuple[Any, ...]) -> tuple[_Convert, _Convert]:
    variables = dict(zip(getattr(kind, "__parameters__", ()), arguments, strict=True))
    hints = get_type_hints(kind)
    plan, decoders = [], {}
    for field in fields(kind):
        encode, decode = _converters(variables.get(hints[field.name], hints[field.name]))
        default = field.default if field.default_factory is MISSING else field.default_factory()
        plan.append((field.name, attrgetter(field.name), default, None if encode is _same else encode))
        decoders[field.name] = decode

    def encode_fields(value: Any) -> Any:
        result = {}
        for name, read, default, encode in plan:
            part = read(value)
            if part is not default and part != default:
                result[name] = part if encode is None else encode(part)
        return result

    def decode_fields(value: Any) -> Any:
        return kind(**{name: decoders[name](part) for name, part in value.items() if name in decoders})

    return encode_fields, decode_fields
