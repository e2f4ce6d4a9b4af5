"""Kubernetes' labels and label selectors.

Sources: apimachinery's util/validation (IsQualifiedName, IsValidLabelValue) for labels, and pkg/labels (Parse,
Requirement.Matches) for selectors, without the operators `>` and `<`, which are rarely used.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from autoscaler.errors import SelectorError

MAX_SELECTOR: Final = 4096
"""Characters. A selector may be a part of a URL."""
_WORD: Final = r"[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?"
_DOMAIN: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
_SPACES: Final = " \t\r\n"
_FORM: Final = "expected terms such as team=shop, env!=test, tier in (web, api), tier notin (db), team or !team"


def _term(key: str, value: str, values: str) -> str:
    """Return a regular expression of one term, from those of its parts; `values`: between the parentheses.

    Spaces match in one way only; otherwise many spaces would take exponential time.
    """
    some = rf"[{_SPACES}]"
    return (
        rf"{some}*(?:!{some}*(?P<absent>{key})|(?P<key>{key})(?:{some}*(?P<sign>==?|!=)(?:{some}*(?P<value>{value}))?"
        rf"|{some}+(?P<word>in|notin){some}*\((?P<list>{values})\))?){some}*"
    )


_NAME: Final = rf"[^{_SPACES}=!,()<>]+"
_NEXT: Final = re.compile(rf"{_term(_NAME, _NAME, '[^()]*')}(?P<end>,|$)")
"""One term. Its names are checked later."""


def _pattern() -> str:
    word = rf"[{_SPACES}]*{_WORD}"
    more = rf"[{_SPACES}]*,(?:{word})?"
    values = rf"(?:{word}(?:{more})*|(?:{more})+)[{_SPACES}]*"
    term = re.sub(r"\?P<\w+>", "?:", _term(rf"(?:{_DOMAIN}/)?{_WORD}", _WORD, values))
    return rf"^(?:[{_SPACES}]*|{term}(?:,{term})*)$".replace("\t\r\n", r"\t\r\n")


PATTERN: Final = _pattern()
"""The form of a selector, as a regular expression for JSON Schema."""


def check_key(key: str) -> str:
    """Return the label's key. Raises ValueError for one that Kubernetes refuses."""
    prefix, slash, word = key.rpartition("/")
    prefixed = len(prefix) <= 253 and re.fullmatch(_DOMAIN, prefix)
    if (slash and not prefixed) or not re.fullmatch(_WORD, word):
        raise ValueError(
            f"{key[:64]!r} is not a valid key; Kubernetes takes at most 63 letters, digits, `-`, `_`, `.`, after a "
            "domain and `/` or without"
        )
    return key


def check_value(value: str) -> str:
    """Return the label's value, which may be empty. Raises ValueError for one that Kubernetes refuses."""
    if value and not re.fullmatch(_WORD, value):
        raise ValueError(
            f"{value[:64]!r} is not a valid label value; Kubernetes takes at most 63 letters, digits, `-`, `_`, `.`"
        )
    return value


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term of a selector."""

    key: str
    values: frozenset[str] | None
    """None: any value."""
    wanted: bool = True
    """Whether the label must have one of the values; False: it must not, and may be absent."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an autoscaler with these labels fits."""
        value = labels.get(self.key)
        return (value is not None if self.values is None else value in self.values) is self.wanted


@dataclass(frozen=True, slots=True)
class Selector:
    """Selects the autoscalers that match every term; without a term, all."""

    requirements: tuple[Requirement, ...]
    text: str
    """The selector's text."""

    @classmethod
    def parse(cls, text: str) -> "Selector":
        """Parse `team=shop,env!=test,tier in (web,api),!old`. Raises SelectorError."""
        if len(text) > MAX_SELECTOR:
            raise SelectorError(f"a label selector may have {MAX_SELECTOR} characters, not {len(text)}; shorten it")
        requirements = list[Requirement]()
        position, end = 0, "," if text.strip(_SPACES) else ""
        while end == ",":
            term = _NEXT.match(text, position)
            if term is None:
                raise SelectorError(f"{text[position:][:64]!r} is not a valid label selector; {_FORM}")
            try:
                requirements.append(_requirement(term))
            except ValueError as error:
                raise SelectorError(str(error)) from None
            position, end = term.end(), term["end"]
        return cls(tuple(requirements), text.strip(_SPACES))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an autoscaler with these labels is meant."""
        return all(requirement.matches(labels) for requirement in self.requirements)


def _requirement(term: re.Match[str]) -> Requirement:
    """Return the requirement of a term. Raises ValueError."""
    if term["absent"] is not None:
        return Requirement(check_key(term["absent"]), None, wanted=False)
    key = check_key(term["key"])
    if term["sign"] is not None:
        return Requirement(key, frozenset({check_value(term["value"] or "")}), wanted=term["sign"] != "!=")
    if term["word"] is None:
        return Requirement(key, None)
    if not term["list"].strip(_SPACES):
        raise ValueError(f"{term[0].strip()[:64]!r} names no value; write some, as in tier in (web, api)")
    values = frozenset([check_value(value.strip(_SPACES)) for value in term["list"].split(",")])
    return Requirement(key, values, wanted=term["word"] == "in")
