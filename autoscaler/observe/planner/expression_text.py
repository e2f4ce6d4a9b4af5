"""The text of an expression, separated from the values of its equality matchers.

Expressions of one `Shape` have the same tokens and differ only in the content of these strings. PromQL's grammar does
not depend on strings, so the syntax of one holds for all. One of them is parsed and compared with this result (see
`proof.py`).
"""

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

_STRING: Final = r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|`[^`]*`'
_MATCHER: Final = re.compile(
    rf"#[^\n]*|(?P<label>[A-Za-z_][A-Za-z0-9_]*)[ \t\r\n]*=[ \t\r\n]*(?P<value>{_STRING})|{_STRING}"
)
"""Comments and other strings match too, so that nothing inside them is taken for a matcher.

Outside of braces a name, `=` and a string never follow one another.
"""
_ESCAPE: Final = re.compile(r"\\(.)")
_UNPRINTED: Final = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffd]")
"""Not written into a query: control characters, unpaired surrogates, and what Go reads as invalid UTF-8."""

UNMATCHED: Final = "it has no equality matcher"
UNREAD: Final = "a value in it has a control character or an escape other than of a quote or a backslash"


class Shape(NamedTuple):
    """What mergeable expressions have in common."""

    prometheus: str
    pieces: tuple[str, ...]
    """The text around the equality matchers: one piece more than matchers."""
    labels: tuple[str, ...]
    """Each matcher's label."""
    variables: tuple[int, ...]
    """Each matcher's variable. Matchers with the same label and value share one."""


@dataclass(frozen=True, slots=True)
class ExpressionText:
    """One expression: its shape and the values in it."""

    shape: Shape
    values: tuple[str, ...]
    """The value of each variable."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The label of each variable."""
        return tuple(self.shape.labels[self.shape.variables.index(variable)] for variable in range(len(self.values)))


def read(prometheus: str, expr: str) -> ExpressionText | str:
    """Separate an expression's text, or return why that is not possible."""
    pieces, labels, variables = [], [], []
    found: dict[tuple[str, str], int] = {}
    end = 0
    for match in _MATCHER.finditer(expr):
        label, text = match.group("label", "value")
        if label is None:
            continue
        value = _unquoted(text)
        if value is None:
            return UNREAD
        pieces.append(expr[end : match.start()])
        labels.append(label)
        variables.append(found.setdefault((label, value), len(found)))
        end = match.end()
    if not labels:
        return UNMATCHED
    pieces.append(expr[end:])
    shape = Shape(prometheus, tuple(pieces), tuple(labels), tuple(variables))
    return ExpressionText(shape, tuple(value for _, value in found))


def _unquoted(text: str) -> str | None:
    quote, value = text[0], text[1:-1]
    if _UNPRINTED.search(value):
        return None
    if "\\" not in value or quote == "`":
        return value
    if any(escaped not in {"\\", quote} for escaped in _ESCAPE.findall(value)):
        return None
    return _ESCAPE.sub(r"\1", value)
