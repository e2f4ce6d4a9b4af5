"""What is written of an autoscaler that is converted."""

import pytest

from autoscaler.convert.blocks import flow


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("web", "web"),
        ("1e3", "'1e3'"),
        (3, "3"),
        ([1, "a b"], "[1, a b]"),
        ({"a": {"b": "x" * 200}}, "{a: {b: %s}}" % ("x" * 200)),
    ],
)
def test_a_value_is_one_line(value: object, text: str) -> None:
    """A text alone is a document with an end, which a line of a file has not."""
    assert flow(value) == text
