"""One table in docs/concepts.md has the words of states: those in the code, and no others."""

import re
from collections.abc import Mapping
from pathlib import Path

from autoscaler.view.instances import INSTANCE_WORDS
from autoscaler.view.verdict import MEANINGS, AutoscalerState

_CONCEPTS = Path(__file__).parents[2] / "docs" / "concepts.md"


def section(begin: str, end: str) -> Mapping[str, str]:
    text = _CONCEPTS.read_text()
    part = text[text.index(begin) + len(begin) : text.index(end, text.index(begin))]
    return dict(re.findall(r"^\| ([a-z ]+) \| (.*) \|$", part, re.MULTILINE))


def test_the_states_and_their_meanings_are_those_of_the_table() -> None:
    """The page shows the meanings as hints."""
    table = section("**STATE of an autoscaler**", "**State of an instance**")
    assert table == {state.value: MEANINGS[state] for state in AutoscalerState}


def test_the_words_for_instances_are_those_of_the_table() -> None:
    assert set(section("**State of an instance**", "\n\n")) == set(INSTANCE_WORDS)
