"""Columns, ages, and words that reach a terminal."""

from autoscaler.cli.tables.explanation import explanation
from autoscaler.layout import RED, Screen, Table
from tests.decide.build import CPU_60, NOW, QUEUE_15, samples, scaler, value
from tests.documents.test_explain import STEP, Diary


def test_columns_grow_with_what_comes() -> None:
    """Rows of `--watch` stay aligned with those before."""
    table = Table(("NAME", "SIZE"), Screen())
    assert table.lines([("a", "1"), ("longer", "2")]) == ["NAME     SIZE", "a        1", "longer   2"]
    assert table.row(("b", "3")) == ["b        3"]


def test_wide_characters_take_two_columns() -> None:
    """A service may have any name."""
    assert Table(("NAME", "SIZE"), Screen()).lines([("日本", "1"), ("abcd", "2")])[1:] == ["日本   1", "abcd   2"]


def test_the_last_column_is_wrapped_on_a_terminal_alone() -> None:
    """A pipe gets a row a line, whatever its length."""
    words = "one two three four five six seven"
    assert Table(("A", "TEXT"), Screen(width=34)).row(("x", words)) == ["x   one two three four five six", "    seven"]
    assert Table(("A", "TEXT"), Screen()).row(("x", words * 9)) == [f"x   {words * 9}"]


def test_where_there_is_no_room_beside_the_text_stands_below() -> None:
    """80 columns and long reasons."""
    table = Table(("LONG COLUMN", "TEXT"), Screen(width=34))
    assert table.row(("a" * 20, "one two three four five")) == ["a" * 20, "    one two three four five"]
    assert table.row(("a" * 20, "short")) == [f"{'a' * 20}   short"]


def test_colours_do_not_move_columns() -> None:
    """They take no room."""
    (line,) = Table(("A", "B"), Screen(colours=True)).row(("x", "y"), (RED, ""))
    assert line == "\x1b[31mx\x1b[0m   y"


def test_of_several_metrics_the_one_that_wins_is_marked() -> None:
    """Of a single one there is nothing to win."""
    diary = Diary(scaler(QUEUE_15, CPU_60), 3)
    diary.step(value(45_000), samples([900] * 3, NOW + STEP))
    table = explanation(diary.explained(), NOW, Screen())
    assert ["(wins)" in line for line in table[3:5]] == [False, True]
