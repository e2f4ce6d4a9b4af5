"""What is broken, and which tests must notice it."""

from collections.abc import Sequence
from typing import Final, NamedTuple


class Room(NamedTuple):
    """A part of the product, and the tests that must notice its mutants."""

    place: str
    """A folder or a file."""
    tests: Sequence[str]
    """Paths of the quick tests."""
    slow: Sequence[str] = ()
    """Paths whose slow tests are run, too."""


ROOMS: Final = {
    "decide": Room("autoscaler/decide", ("tests/decide", "tests/documents"), ("tests/conformance",)),
    "observe": Room(
        "autoscaler/observe",
        ("tests/observe",),
        (
            "tests/observe/planner",
            "tests/observe/test_observer.py",
            "tests/observe/test_ranges.py",
        ),
    ),
    "ledger": Room("autoscaler/record/ledger.py", ("tests/record", "tests/act", "tests/daemon"), ("tests/record",)),
}
