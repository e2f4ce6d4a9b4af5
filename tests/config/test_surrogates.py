"""JSON as serializers write it: a character beyond U+FFFF is two escapes."""

import json
from typing import Any

import pytest

from autoscaler.config.document import YamlDocument
from autoscaler.errors import ConfigError


@pytest.mark.parametrize(
    "value",
    [
        {"🚚": "a 🚚 and 東京 😀😀", "list": ["🚚", {"deep": "🛵"}]},
        {"escaped": "\\ud83d\\ude9a", "both": "\\\\🚚", "quote": '"🚚"', "newline": "\n🚚"},
        {"literal": "{'a': \"b\"}", "truck": "🚚"},
    ],
)
@pytest.mark.parametrize("written", [{}, {"indent": 2}, {"separators": (",", ":")}])
def test_json_with_surrogate_pairs_is_read(value: Any, written: Any) -> None:
    """Python, Java and PHP write them by default."""
    assert YamlDocument(json.dumps(value, **written), "file").value == value


def test_yaml_s_other_texts_keep_their_backslashes() -> None:
    """Only a text in double quotes has escapes."""
    text = "a: \"\\ud83d\\ude9a\"\nb: '\\ud83d\\ude9a'\nc: \\ud83d\\ude9a\n"
    assert YamlDocument(text, "file").value == {"a": "🚚", "b": r"\ud83d\ude9a", "c": r"\ud83d\ude9a"}


@pytest.mark.parametrize("half", [r"\ud83d", r"\ude9a", r"\ude9a\ud83d", r"\ud83d x\ude9a"])
def test_a_lone_half_is_an_error_with_its_place(half: str) -> None:
    """It is no character. The place is that of the text as it was, after pairs that were joined."""
    text = r'{"a": "\ud83d\ude9a\ud83d\ude9a", "b": "HERE"}'
    with pytest.raises(ConfigError) as caught:
        YamlDocument(text.replace("HERE", half), "file")
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (1, text.index("HERE") + len(r"\u") + 1)
    assert problem.message.endswith("invalid Unicode character escape code; write the character itself")


@pytest.mark.parametrize("half", ["\ud83d", "\ude9a\ud83d"])
def test_a_lone_half_that_is_no_escape_is_an_error_with_its_place(half: str) -> None:
    """A back end's JSON may have it. It was called a bug of ours."""
    with pytest.raises(ConfigError) as caught:
        YamlDocument(f"a: 🚚\nb: 🚚 {half}", "file")
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (2, 6)
    assert problem.message.startswith("the text holds half a character (\\ud")


def test_places_after_pairs_are_those_of_the_file() -> None:
    """A serializer writes all on one line."""
    text = r'{"a": "\ud83d\ude9a \ud83d\ude9a", "b": 1, "c": {"d": "\ud83d\ude9a"}, "e": 2}'
    document = YamlDocument(text, "file")
    for loc, shown in ((("b",), "1,"), (("c",), '{"d'), (("e",), "2}")):
        assert document.place(loc) == (1, text.index(shown) + 1)
