"""One table in docs/concepts.md has the words of states: those in the code, and no others."""

import re
from collections.abc import Mapping
from pathlib import Path

from autoscaler.model import Direction
from autoscaler.view.instances import INSTANCE_WORDS
from autoscaler.view.level import Level
from autoscaler.view.verdict import MEANINGS, AutoscalerState, state_word

_CONCEPTS = Path(__file__).parents[2] / "docs" / "concepts.md"


def section(begin: str, end: str) -> Mapping[str, str]:
    text = _CONCEPTS.read_text()
    part = text[text.index(begin) + len(begin) : text.index(end, text.index(begin))]
    rows = re.findall(r"^\| ([a-z ,]+) \| (.*) \|$", part, re.MULTILINE)
    return {word: meaning for words, meaning in rows for word in words.split(", ")}


def test_the_states_and_their_meanings_are_those_of_the_table() -> None:
    """The page shows the meanings as hints. The words are those that are shown, with a direction behind `scaling`."""
    table = section("**STATE of an autoscaler**", "**State of an instance**")
    shown = {
        state_word(state, to): MEANINGS[state] for state in AutoscalerState for to in (Direction.OUT, Direction.IN)
    }
    assert table == shown


def test_the_table_has_the_states_that_status_shows() -> None:
    """`active` is a level of autoscalers alone, which have words of their own."""
    assert set(Level) - {Level.ACTIVE} <= section("| word | meaning |", "**STATE of an autoscaler**").keys()


def test_the_words_for_instances_are_those_of_the_table() -> None:
    assert set(section("**State of an instance**", "\n\n")) == set(INSTANCE_WORDS)
