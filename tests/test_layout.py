"""Columns, ages and texts on a terminal."""

from autoscaler.layout import RED, Screen, Table


def test_columns_grow_with_their_values() -> None:
    """Rows of `--watch` stay aligned with earlier ones."""
    table = Table(("NAME", "SIZE"), Screen())
    assert table.lines([("a", "1"), ("longer", "2")]) == ["NAME     SIZE", "a        1", "longer   2"]
    assert table.row(("b", "3")) == ["b        3"]


def test_wide_characters_take_two_columns() -> None:
    """A service may have any name."""
    assert Table(("NAME", "SIZE"), Screen()).lines([("日本", "1"), ("abcd", "2")])[1:] == ["日本   1", "abcd   2"]


def test_the_last_column_is_wrapped_only_on_a_terminal() -> None:
    """A pipe gets one line for each row."""
    words = "one two three four five six seven"
    assert Table(("A", "TEXT"), Screen(width=34)).row(("x", words)) == ["x   one two three four five six", "    seven"]
    assert Table(("A", "TEXT"), Screen()).row(("x", words * 9)) == [f"x   {words * 9}"]


def test_a_long_word_stays_in_one_piece() -> None:
    """An address or an expression in two pieces cannot be copied."""
    address = "http://prometheus.example.org:9090/api/v1/query"
    found = Table(("A", "TEXT"), Screen(width=34)).row(("x", f"it asks {address} now"))
    assert [line.strip() for line in found] == ["x   it asks", address, "now"]


def test_a_text_without_room_beside_the_columns_is_printed_below() -> None:
    table = Table(("LONG COLUMN", "TEXT"), Screen(width=34))
    assert table.row(("a" * 20, "one two three four five")) == ["a" * 20, "    one two three four five"]
    assert table.row(("a" * 20, "short")) == [f"{'a' * 20}   short"]


def test_colours_do_not_change_the_width_of_columns() -> None:
    (line,) = Table(("A", "B"), Screen(colours=True)).row(("x", "y"), (RED, ""))
    assert line == "\x1b[31mx\x1b[0m   y"


def test_no_text_controls_the_terminal_or_forges_a_row() -> None:
    """Names come from back ends and users, and a cell of any column may have one."""
    hostile = "x\x1b[2J\r\nFAKE ROW"
    lines = Table((hostile, "B"), Screen(), ruled=True).lines([(hostile, "1"), ("a", hostile)])
    lines += Screen(width=40).wrap(hostile)
    assert len(lines) == 5
    assert all(line.isprintable() for line in lines)
