"""The contents of a backup in a sentence."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # slow
    from autoscaler.record.backup import Contents


def sentence(contents: "Contents") -> str:
    """Return `2 autoscalers, the last decision of 2026-01-31T14:30:00Z, 98,304 bytes`."""
    autoscalers = "1 autoscaler" if contents.autoscalers == 1 else f"{contents.autoscalers:,} autoscalers"
    last = "no decision"
    if contents.last is not None:
        last = f"the last decision of {contents.last.isoformat(timespec='seconds').replace('+00:00', 'Z')}"
    return f"{autoscalers}, {last}, {contents.size:,} bytes"
