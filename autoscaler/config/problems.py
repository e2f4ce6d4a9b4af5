"""Turns pydantic's errors into problems with a position, a path and a remedy."""

import re
import types
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from autoscaler.config.document import BLOCK_STYLE, DASH, FLOAT, INT, YamlDocument
from autoscaler.errors import Problem
from autoscaler.fields.find_values import Loc, keys_of
from autoscaler.fields.types import suggest

_EXPECTED: Final = {  # pydantic's error types -> what was expected
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a text",
    "path_type": "a path",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dataclass_type": "a mapping",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
}
_UNKNOWN: Final = ("extra_forbidden", "unexpected_keyword_argument")
_MAX_STEP: Final = 64
_MAX_WHOLE: Final = 2**53
"""Up to it, a float has each whole number."""
_SHOWN: Final = frozenset(error for error in _EXPECTED if error.startswith(("int", "float", "bool")))
"""The errors that show the text that was found. In other errors it may be a secret."""
_INNER: Final[Mapping[str | int, str]] = {"query": "expr", "metric": "name"}
"""Keys whose mapping is often omitted, and the required key of that mapping. No braces: they break PromQL."""
_UNQUOTED: Final = {"a whole number": INT, "a number": FLOAT, "true or false": re.compile("true|false")}
"""Texts that YAML would read as such a value without quotes."""
_FORMS: Final = {"a mapping": "write it as {KEY: VALUE, …}", "a list": "write it as [ENTRY, …]"}
_LIMITS: Final = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}


_SectionT = TypeVar("_SectionT")


@cache  # to make one takes longer than to read or write a section, and there is a section for each autoscaler
def adapter_of(model: Any) -> TypeAdapter[Any]:
    """Return what reads and writes values of a type."""
    return TypeAdapter(model)


class Problems:
    """Collects the problems of one document. A problem in a block that aliases repeat is kept once."""

    def __init__(self, document: YamlDocument) -> None:
        self._document = document
        self._found: dict[Hashable, Problem] = {}

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._found.values())

    def add(self, loc: Loc, message: str, *, of_key: bool = False) -> None:
        """Add a problem with the value (or the key) at `loc`."""
        line, column = self._document.place(loc, of_key=of_key)
        message = message.replace("\n", " ")  # one line for each problem; the message may be an adapter's
        problem = Problem(self._document.file, line, column, path_text(loc), message)
        self._found.setdefault((line, column, loc[-1:], message), problem)

    def read(self, model: type[_SectionT], value: Any, loc: Loc, scope: Any = None) -> _SectionT | None:
        """Return the value at `loc` as `model` reads it; None: it is wrong, and its problems were added.

        `scope`: what validators find in their context.
        """
        hashable: Any = model
        try:
            right: _SectionT = adapter_of(hashable).validate_python(value, context=scope, by_alias=True, by_name=False)
        except ValidationError as error:
            self._add_validation(error, model, loc)
            return None
        return right

    def _add_validation(self, error: ValidationError, model: type, prefix: Loc) -> None:
        """Add every error of the section of `model` at `prefix`."""
        for details in error.errors(include_url=False):
            if details["type"] == "too_short" and details["input"]:
                continue  # its items are problems themselves
            loc = self._in_document(details["loc"], model, prefix)
            unknown, of_key = details["type"] in _UNKNOWN, details["loc"][-1:] == ("[key]",)
            known = known_keys(model, loc[len(prefix) : -1]) if unknown else ()
            message = _message(details, known, self._document.written(loc))
            self.add(loc, message, of_key=unknown or of_key)

    def _in_document(self, loc: Loc, model: type, prefix: Loc) -> Loc:
        """Return pydantic's location without its marks (a union's member, `[key]`)."""
        kept = prefix
        for index, step in enumerate(loc):
            if self._document.holds((*kept, step)):
                kept = (*kept, step)
            elif index == len(loc) - 1:  # absent: pydantic names a default's field by its attribute
                key = _fields(model, kept[len(prefix) :]).get(step)
                kept += (key,) if key is not None else ()
        return kept


def path_text(loc: Loc) -> str:
    """Return the path as `autoscalers[1].maxReplicas`; a key that is not a plain word is in quotes."""
    text = ""
    for step in loc:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            shown = step if len(step) <= _MAX_STEP else f"{step[:_MAX_STEP]}…"
            word = shown if step.replace("-", "").replace("_", "").isalnum() else repr(shown)
            text += f".{word}" if text else word
    return text


def known_keys(model: type, loc: Loc) -> frozenset[str]:
    """Return the keys that `model` knows at `loc` below it."""
    return frozenset(_fields(model, loc).values())


def _fields(model: type, loc: Loc) -> Mapping[str | int, str]:
    """Return attribute names and keys -> keys."""
    here: list[Any] = [model]
    for step in loc:
        here = [inner for each in here for inner in _step(each, step)]
    keys: dict[str | int, str] = {name: key for each in here for name, (key, _) in keys_of(each).items()}
    return keys | {key: key for key in keys.values()}


def _step(annotation: Any, step: str | int) -> Iterable[Any]:
    if keys := keys_of(annotation):
        for key, inner in keys.values():
            if step == key:
                yield from _members(inner)
        return
    container, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(container, type) and arguments:
        yield from _members(arguments[-1] if issubclass(container, Mapping) else arguments[0])


def _members(annotation: Any) -> Iterable[Any]:
    """Yield the annotation without Annotated, or each member of a union."""
    if get_origin(annotation) is Annotated:
        yield from _members(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, types.UnionType):
        for each in get_args(annotation):
            yield from _members(each)
    else:
        yield annotation


def _message(details: ErrorDetails, known: Collection[str], written: str | None) -> str:
    """Return what is wrong, and the remedy. `written`: the value as the file has it."""
    kind, value, context = details["type"], details["input"], details.get("ctx", {})
    if kind in _UNKNOWN:
        key = str(details["loc"][-1])
        if value is None and ")" in key:
            return f"unknown key, which is a part of an expression in braces; {BLOCK_STYLE}"
        return f"unknown key; {suggest(key, known)}"
    if kind == "missing":
        return "is missing; it has no default"
    if kind == "value_error":
        return str(context["error"])
    if kind in _EXPECTED:
        found = _found(value, shown=kind in _SHOWN, written=written)
        return f"expected {_EXPECTED[kind]}, found {found}; {_remedy(_EXPECTED[kind], value, details['loc'])}"
    if kind in _LIMITS:
        key, words = _LIMITS[kind]
        return f"{value} is out of range; write {words} {context[key]}"
    if kind in ("literal_error", "enum"):
        return f"{_found(value, shown=True, written=written)} is not allowed here; write {context['expected']}"
    if kind in ("too_short", "string_too_short"):
        return "is empty; give at least one" if kind == "too_short" else "is empty; write at least one character"
    return f"{details['msg'][:1].lower()}{details['msg'][1:]}"


def _remedy(expected: str, value: Any, loc: Loc) -> str:
    """Return what to do about a value of another type than expected."""
    unquoted = _UNQUOTED.get(expected)
    match value:
        case str() if unquoted and unquoted.fullmatch(value):
            return f"remove the quotes: {value}"
        case str() | float() if expected == "a whole number" and (whole := _whole(value)) is not None:
            return f"write it as {whole}"
        case str() if unquoted and value[:1].isdigit():
            return f"write {expected}, without a unit"
        case str() if expected == "a mapping" and loc[-1:] and loc[-1] in _INNER:
            return f"write `{_INNER[loc[-1]]}: …` on a line of its own below it"
        case int() | float() if expected == "a text":
            return "write it in quotes"
        case dict() if expected == "a list":
            return f"begin each of its entries {DASH}"
        case [dict(), *_] if expected == "a mapping":
            return "write its keys without dashes"
    return _FORMS.get(expected, f"write {expected}")


def _whole(value: str | float) -> int | None:
    """Return the whole number that a fraction or a text is, such as 10.0, `010`, `1_000` and `0x1f`; None: it is none.

    Zeros at the beginning count for nothing, as in YAML 1.2; in YAML 1.1, and in many languages, 010 is 8.
    """
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _MAX_WHOLE else None
    for base in (10, 0) if len(value) <= _MAX_STEP else ():
        with suppress(ValueError):
            return int(value, base)
    return None


def _found(value: Any, *, shown: bool, written: str | None) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {written or value}"[:_MAX_STEP] if shown else "a number"
        case str():
            return f"the text {value[:64]!r}" if shown else "a text"
        case dict():
            return "a mapping"
        case _:
            return "a list"
