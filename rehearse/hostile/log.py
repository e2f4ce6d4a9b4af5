"""Summaries of the daemon's log."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

NOT_JSON: Final = "line that is not JSON"
"""The name under which unparsable lines are counted."""
UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""C0 without tab and line feed, DEL, C1, and characters that change the direction of text."""


@dataclass(slots=True)
class Stretch:
    """The summary of a part of the log."""

    lines: int = 0
    size: int = 0
    """In bytes."""
    longest: int = 0
    events: Counter[str] = field(default_factory=Counter)
    decided: Counter[str] = field(default_factory=Counter)
    """Autoscaler's name -> decisions with a size."""
    failed: Counter[str] = field(default_factory=Counter)
    """Autoscaler's name -> decisions in which something failed."""
    unprintable: int = 0
    """Lines with a control character."""
    errors: list[str] = field(default_factory=list)
    """The first few errors of `cycle_failed` and similar events, and of libraries."""

    def add(self, line: bytes) -> None:
        """Add a line, which includes its line feed."""
        self.lines += 1
        self.size += len(line)
        self.longest = max(self.longest, len(line))
        try:
            entry: Mapping[str, Any] = json.loads(line)
        except ValueError:
            entry = {"event": NOT_JSON, "error": line.decode(errors="replace")}
        self.events[entry["event"]] += 1
        self.unprintable += any(UNPRINTABLE.search(text) is not None for text in _texts(entry))
        if entry["event"] == "decision":
            self.decided[entry["autoscaler"]] += entry["desired"] is not None
            self.failed[entry["autoscaler"]] += entry["level"] != "info"
        elif ("error" in entry or entry["event"] == "library_log") and len(self.errors) < 5:
            said = [str(entry[key]) for key in ("message", "error") if key in entry]
            self.errors.append(f"{entry['event']}: {'; '.join(said)}"[:300])

    def join(self, later: "Stretch") -> None:
        """Add the summary of the next part."""
        self.lines += later.lines
        self.size += later.size
        self.longest = max(self.longest, later.longest)
        self.events += later.events
        self.decided += later.decided
        self.failed += later.failed
        self.unprintable += later.unprintable
        self.errors += later.errors


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for each in value.values():
                yield from _texts(each)
        case list():
            for each in value:
                yield from _texts(each)
