"""The terminal, the page, the log and the API tell one story in the same words."""

from collections.abc import Iterator, Sequence
from typing import Final

import pytest

from autoscaler.times import INSTANT
from tests.view.moment_lives import MOMENTS
from tests.view.moments import Shown, shown_moments, words_of_page

pytestmark = pytest.mark.slow
_TOLD: Final = ("why", "metric", "step", "note", "ahead")


@pytest.fixture(scope="module")
def moments() -> Iterator[Sequence[Shown]]:
    with shown_moments() as shown:
        yield shown


def parts(text: str) -> Sequence[str]:
    """Return the text around the times in it, which each reader sees in another form."""
    return [" ".join(each.split()) for each in INSTANT.split(text)]


def is_told(text: str, where: str) -> bool:
    said = " ".join(where.split()).lower()
    return all(each.lower() in said for each in parts(text))


def test_there_are_twenty_moments(moments: Sequence[Shown]) -> None:
    assert len(moments) == len(MOMENTS) >= 20


def test_the_first_line_is_the_same_everywhere(moments: Sequence[Shown]) -> None:
    """Whoever reads the list, the explanation, the log or the page learns the same cause."""
    for each in moments:
        first = each.explanation["story"][0]
        assert first["kind"] == "why"
        assert first["text"] == each.summary["why"] == each.log["why"] == each.explanation["lines"][0]
        assert list(each.log)[-1] == "why"
        for where in (each.terminal, words_of_page(each.page), each.console):
            assert is_told(first["text"], where), (each.name, first["text"])


def test_every_line_of_the_story_is_on_the_terminal_and_on_the_page(moments: Sequence[Shown]) -> None:
    for each in moments:
        for line in each.explanation["story"]:
            assert line["kind"] in _TOLD
            for where in (each.terminal, words_of_page(each.page)):
                assert is_told(line["text"], where), (each.name, line["text"])


def test_no_line_is_told_twice(moments: Sequence[Shown]) -> None:
    """Two lines with one text would be two places that tell the same."""
    for each in moments:
        texts = [line["text"] for line in each.explanation["story"] if line["kind"] != "note"]
        assert len(texts) == len(set(texts)), each.name


def test_nothing_has_a_heading_without_a_line(moments: Sequence[Shown]) -> None:
    """A metric without a value has nothing that would change the size, but for what is said of it."""
    for each in moments:
        for where in (each.terminal, each.page):
            has_lines = any(line["kind"] == "ahead" for line in each.explanation["story"])
            assert ("What would change it" in where) is has_lines, each.name


def test_the_words_of_states_are_those_of_the_moments(moments: Sequence[Shown]) -> None:
    """An idle service at its minimum is not limited: nobody has to raise anything."""
    states = {each.name: each.summary["state"] for each in moments}
    expected = {
        "out": "scaling",
        "within-tolerance": "steady",
        "stabilized": "stabilizing",
        "at-maximum": "limited",
        "at-minimum": "steady",
        "paused": "paused",
        "paused-at-rest": "paused",
        "held": "held",
        "brake": "held",
        "failing-metric": "failing",
        "failing-target": "failing",
        "failing-write": "failing",
        "fallback": "failing",
        "schedule": "limited",
        "idle": "idle",
        "disabled": "disabled",
    }
    assert {name: states[name] for name in expected} == expected
