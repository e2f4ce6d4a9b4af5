"""One error for every shape that a back end's documentation does not promise."""

import pytest

from autoscaler.target import TargetUnavailable, unavailable_if_malformed


@pytest.mark.parametrize(
    "error", [AttributeError("a"), IndexError("a"), KeyError("a"), TypeError("a"), ValueError("{a}")]
)
def test_an_undocumented_shape_is_unavailable_with_what_was_found(error: Exception) -> None:
    """AWS's adapters once let an IndexError out. Braces of an answer are text, not places of the message."""
    with (
        pytest.raises(TargetUnavailable) as raised,
        unavailable_if_malformed("{what} is not documented ({found})", "job {x}"),
    ):
        raise error
    assert str(raised.value) == f"job {{x}} is not documented ({type(error).__name__}: {error})"
