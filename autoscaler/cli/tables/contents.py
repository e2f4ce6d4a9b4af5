"""The contents of a backup in a sentence."""

from typing import TYPE_CHECKING

from autoscaler.text import count
from autoscaler.times import rfc3339

if TYPE_CHECKING:  # slow
    from autoscaler.record.backup import Contents


def sentence(contents: "Contents") -> str:
    """Return `2 autoscalers, the last decision of 2026-01-31T14:30:00Z`."""
    last = "no decision"
    if contents.last is not None:
        last = f"the last decision of {rfc3339(contents.last.replace(microsecond=0))}"
    return f"{count(contents.autoscalers, 'autoscaler')}, {last}"
