"""Parses YAML to plain values, and keeps their positions.

The grammar is libyaml's; plain scalars have the types of YAML 1.2's core schema (`yes` and `1:30` are texts). Merge
keys are those of YAML 1.1. Tags, duplicate keys and aliases that expand too far are refused.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, NoReturn

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from autoscaler.errors import ConfigError, Problem
from autoscaler.fields.find_values import Loc

MAX_DEPTH: Final = 50
"""A configuration needs about 12 levels; libyaml's composer overflows the stack at some ten thousand."""
MAX_VALUES: Final = 2_000_000
"""Keys and values; ten thousand autoscalers of three metrics take about half. Each costs some 4 us and 500 bytes."""
FREE_EXPANSION: Final = 100_000
MAX_EXPANSION: Final = 10
"""Aliases may multiply a document's values by this, and small documents up to FREE_EXPANSION values."""

_WORDS: Final[dict[str, bool | None]] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}  # fmt: skip - one line for each value
INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,300})")
FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


class _Known(NamedTuple):
    """A node's value, and its size with all aliases expanded."""

    value: Any
    size: int
    depth: int


class YamlDocument:
    """A parsed file: its plain `value`, and the position of each value.

    Raises ConfigError with one problem if it is not YAML, or with every duplicate key and tag.
    """

    def __init__(self, text: str, file: str, first_line: int = 1, stands_at: Loc = ()) -> None:
        """`first_line`: the number of the text's first line in the file.

        `stands_at`: if the text counts as a part of a larger document, its place there, with which all places begin.
        """
        self.file = file
        self._first_line, self._stands_at = first_line, stands_at
        self._problems: list[Problem] = []
        self._known: dict[int, _Known | None] = {}
        self._entries: dict[int, dict[str, tuple[Node, Node]]] = {}
        self._root = _composed(text, file, first_line)
        self._allowance = max(FREE_EXPANSION, MAX_EXPANSION * text.count("\n"))
        self.value: Any = None if self._root is None else self._convert(self._root).value
        if self._problems:
            raise ConfigError(self._problems)

    def place(self, loc: Loc, *, of_key: bool = False) -> tuple[int, int]:
        """Return line and column, from 1, of the value (or key) at `loc`; of its container if it is absent."""
        if self._root is None:
            return self._first_line, 1
        key, node = [(self._root, self._root), *self._nodes(loc)][-1]
        return self._mark(key if of_key else node)

    def written(self, loc: Loc) -> str | None:
        """Return the text of the value at `loc` as the file has it; None: it is no single value."""
        found = [*self._nodes(loc)]
        value = found[-1][1] if found and len(found) == len(loc) else None
        return value.value if isinstance(value, ScalarNode) else None

    def holds(self, loc: Loc) -> bool:
        """Return whether the file has a value at `loc`."""
        return len(list(self._nodes(loc))) == len(loc)

    def _nodes(self, loc: Loc) -> Iterator[tuple[Node, Node]]:
        """Yield the key and the value at each step of `loc`, up to one that is absent."""
        node, above = self._root, len(self._stands_at)
        if node is not None:
            yield from [(node, node)] * len(loc[:above])
        for step in loc[above:]:
            found = self._child(node, step)
            if found is None:
                return
            yield found
            node = found[1]

    def _child(self, node: Node | None, step: str | int) -> tuple[Node, Node] | None:
        if isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.value):
            return node.value[step], node.value[step]
        if isinstance(node, MappingNode) and isinstance(step, str):
            return self._entries_of(node).get(step)
        return None

    def _entries_of(self, node: MappingNode) -> dict[str, tuple[Node, Node]]:
        """Return a mapping's keys and values with merge keys expanded. The mapping's own keys take precedence."""
        if id(node) not in self._entries:
            merged: dict[str, tuple[Node, Node]] = {}
            own: dict[str, tuple[Node, Node]] = {}
            for key, value in node.value:
                if _is_merge(key):
                    for source in value.value if isinstance(value, SequenceNode) else [value]:
                        merged = self._entries_of(source) | merged
                else:
                    own[key.value] = (key, value)
            self._entries[id(node)] = merged | own
        return self._entries[id(node)]

    def _convert(self, node: Node, *, entry: bool = False) -> _Known:
        """Return the node's value. An anchored node precedes its aliases, so recursion is limited by the text.

        `entry`: it is one of a list's.
        """
        if id(node) in self._known:
            known = self._known[id(node)]
            if known is None:
                self._stop(node, "an alias is inside the block that it refers to; write the block out")
            return known
        self._known[id(node)] = None
        self._refuse_tag(node)
        if isinstance(node, ScalarNode):
            self._refuse_nul(node)
            known = _Known(_scalar(node), 1, 1)
        elif isinstance(node, SequenceNode):
            items = [self._convert(item, entry=True) for item in node.value]
            known = self._sum(node, [item.value for item in items], items)
        elif isinstance(node, MappingNode):
            known = self._mapping(node, entry=entry)
        else:
            raise AssertionError("YAML has three kinds of nodes")
        self._known[id(node)] = known
        return known

    def _mapping(self, node: MappingNode, *, entry: bool) -> _Known:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        seen: dict[str, Node] = {}
        parts = []
        for key, value in node.value:
            part = self._convert(value)
            parts.append(part)
            name = self._key(key)
            if name is None:
                continue
            if name in seen:
                twice = f"{name[:64]!r} is given twice, first on line {self._mark(seen[name])[0]}"
                if entry and seen[name] is node.value[0][0]:
                    remedy = f"if another entry of the list begins here, begin it with a dash: `- {name[:64]}:`"
                    self._add(key, f"{twice}; {remedy}; else remove one")
                    break  # the entry's other keys are given twice for the same reason
                self._add(key, f"{twice}; remove one")
            elif _is_merge(key):
                merged = self._merged(value, part.value)
            else:
                own[name] = part.value
            seen.setdefault(name, key)
        return self._sum(node, merged | own if merged else own, parts)

    def _key(self, key: Node) -> str | None:
        self._refuse_tag(key)
        if not isinstance(key, ScalarNode):
            self._add(key, "a key is a mapping or a list; expected a text")
        elif not isinstance(_scalar(key), str):
            self._add(key, f"the key {key.value[:64]!r} is not text; write it in quotes")
        else:
            self._refuse_nul(key)
            return str(key.value)
        return None

    def _refuse_nul(self, node: ScalarNode) -> None:
        if "\0" in node.value:
            self._add(node, "the text holds a NUL character, which no path, URL, name or query can have; remove it")

    def _refuse_tag(self, node: Node) -> None:
        tag: str | None = node.tag  # None: the composer's default
        if tag is not None:
            self._add(node, f"tags such as {tag[:40]!r} are not used here; remove it")

    def _merged(self, node: Node, value: Any) -> dict[str, Any]:
        """Merge several mappings. An earlier one takes precedence."""
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            self._add(node, "expected a mapping, or a list of mappings, to merge with <<; name anchors of mappings")
            return {}
        return {key: item for source in reversed(sources) for key, item in source.items()}

    def _sum(self, node: Node, value: Any, parts: Sequence[_Known]) -> _Known:
        size = 1 + sum(part.size for part in parts)
        depth = 1 + max((part.depth for part in parts), default=0)
        if size > self._allowance + len(self._known):
            self._stop(node, "aliases make the document too large; write out what is meant")
        if depth > MAX_DEPTH:
            self._stop(node, f"nested deeper than {MAX_DEPTH} levels; flatten it")
        return _Known(value, size, depth)

    def _add(self, node: Node, message: str) -> None:
        self._problems.append(Problem(self.file, *self._mark(node), "", message))

    def _mark(self, node: Node) -> tuple[int, int]:
        return node.start_mark.line + self._first_line, node.start_mark.column + 1

    def _stop(self, node: Node, message: str) -> NoReturn:
        self._add(node, message)
        raise ConfigError(self._problems)


class _Composer(yaml.CSafeLoader):
    """libyaml's composer. It asks for the tag of every node and reports its depth."""

    depth = 0
    values = 0

    def resolve(self, *_: object) -> None:
        """Return no tag, so that only the tags of the file remain."""
        self.values += 1
        if self.values > MAX_VALUES:
            raise _TooMany

    def descend_resolver(self, *_: object) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _TooDeep

    def ascend_resolver(self) -> None:
        self.depth -= 1


class _TooDeep(Exception):
    """The nodes nest deeper than MAX_DEPTH."""


_OF_COLONS: Final = "mapping values are not allowed"
_OF_KEYS: Final = "did not find expected key"
_OF_INDENTATION: Final = ("did not find expected '-' indicator", _OF_KEYS, _OF_COLONS)
"""The beginnings of libyaml's messages that usually mean wrong indentation."""
DASH: Final = "with a dash, as in `- name: web`"
"""How an entry of a list begins."""
_OF_BRACKETS: Final = "did not find expected ',' or"
"""That of a bracket that is not closed, or that belongs to a text."""
_OF_QUOTES: Final = "found unexpected end of stream"
"""That of a quote that is not closed: the whole rest of the file is in it."""
_PROMQL: Final = re.compile(r"\bexpr:[ \n]+[^ \n\"'|>]")
"""An expression without quotes."""
BLOCK_STYLE: Final = "write `expr:` on a line of its own, not in braces, or put the expression in quotes"
"""The remedy for PromQL in braces, where its own brackets and commas end it, as in `{expr: up{job="a"}}`."""

_OF_ESCAPES: Final = "found invalid Unicode character escape"
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_PAIR: Final = re.compile(r"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\.", re.DOTALL)
"""Serializers of JSON write a character beyond U+FFFF as two escapes (RFC 8259, 7), which libyaml refuses."""


class _TooMany(Exception):
    """There are more nodes than MAX_VALUES."""


def _composer(text: str, file: str, first_line: int) -> _Composer:
    """Return what composes the text. Raises ConfigError for half a character, which JSON of others may hold."""
    try:
        return _Composer(text)
    except UnicodeEncodeError as error:
        before, half = text[: error.start], ascii(text[error.start])[1:-1]
    line, column = before.count("\n"), len(before) - before.rfind("\n")
    message = f"the text holds half a character ({half}), which UTF-8 does not have; remove it"
    raise ConfigError([Problem(file, line + first_line, column, "", message)])


def _composed(text: str, file: str, first_line: int) -> Node | None:
    """Return the top node. Raises ConfigError."""
    composer, line, column = _composer(text, file, first_line), 0, 0
    try:
        return composer.get_single_node()
    except _TooDeep:
        message = f"the file is nested deeper than {MAX_DEPTH} levels; flatten it"
    except _TooMany:
        message = f"the file holds more than {MAX_VALUES:,} keys and values; split it"
    except ReaderError as error:
        before = text.encode()[: error.position].decode(errors="replace")
        message = f"the text holds a character that YAML does not allow ({error.reason}); remove it"
        line, column = before.count("\n"), len(before) - before.rfind("\n") - 1
    except yaml.MarkedYAMLError as error:
        if (error.problem or "").startswith(_OF_ESCAPES) and (joined := _with_joined_pairs(text)) != text:
            return _composed(joined, file, first_line)
        what = " ".join(part for part in (error.context, error.problem) if part)
        remedy = _remedy(error, text)
        message = f"invalid YAML: {what}" + (f"; {remedy}" if remedy else "")
        places = (error.problem_mark, error.context_mark)
        if mark := next(filter(None, reversed(places) if error.problem == _OF_QUOTES else places), None):
            line, column = mark.line, mark.column
    finally:
        composer.dispose()
    raise ConfigError([Problem(file, line + first_line, column + 1, "", message)])


def _with_joined_pairs(text: str) -> str:
    """Return the text with a character for each pair, and spaces after its quotes: what follows keeps its column."""

    def join(quoted: re.Match[str]) -> str:
        joined = _PAIR.sub(lambda each: json.loads(f'"{each[0]}"') if each[1] else each[0], quoted[0])
        return joined.ljust(len(quoted[0]))

    return _QUOTED.sub(join, text)


def _remedy(error: yaml.MarkedYAMLError, text: str) -> str:
    mark, problem, lines = error.problem_mark, error.problem or "", text.splitlines()
    line = lines[mark.line] if mark is not None and mark.line < len(lines) else ""
    if line.lstrip(" ")[:1] == "\t":
        return "indent it by spaces, not by a tab"
    if problem.startswith(_OF_COLONS) and _PROMQL.search(line):
        return "put the expression in quotes, because it holds a colon and a space"
    if problem.startswith(_OF_INDENTATION):
        listed = problem != _OF_KEYS or line.lstrip(" ").startswith("- ")
        dash = f", or begin each entry of the list {DASH}" if listed else ""
        return f"indent the line as its neighbours are{dash}"
    if problem.startswith(_OF_BRACKETS):
        first = mark if error.context_mark is None else error.context_mark
        since = "\n".join(lines[first.line : mark.line + 1]) if first is not None and mark is not None else ""
        if _PROMQL.search(since):
            return BLOCK_STYLE
        return "close the bracket, or put a text that holds brackets or commas in quotes"
    if problem == _OF_QUOTES:
        return "close the quote that begins here"
    if problem.startswith(_OF_ESCAPES):
        return "write the character itself"
    return ""


def _scalar(node: ScalarNode) -> Any:
    text: str = node.value
    if node.style:  # quoted, or a block
        return text
    if text in _WORDS:
        return _WORDS[text]
    if INT.fullmatch(text):
        return int(text)
    return float(text) if FLOAT.fullmatch(text) else text


def _is_merge(key: Node) -> bool:
    return key.value == "<<" and not getattr(key, "style", None)
