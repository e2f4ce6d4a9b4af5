"""Sizes written lately: AWS's reads lag its writes, so they are believed until AWS shows them.

A group that still reports a size that our write left behind has not been changed by somebody; one that reports a
third size has. Kept in a file, so that a restart does not forget a write that no read shows yet.
"""

import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from autoscaler.target import Logger
from autoscaler.target.files import write_atomically

BELIEVED_FOR: Final = timedelta(seconds=60)
"""Then AWS is believed, whatever it says."""


@dataclass(frozen=True, slots=True)
class Write:
    """One change of a group's size."""

    change: str
    """The id of the decision."""
    passed: tuple[int, ...]
    """Sizes that the group had before and on the way."""
    size: int
    at: str
    """ISO 8601, UTC."""
    ended: tuple[str, ...] = ()
    """Instances that it, and those shortly before it, ended by name."""

    def lasts(self, now: datetime) -> bool:
        """Whether a read may still not show it."""
        return abs(now - datetime.fromisoformat(self.at)) < BELIEVED_FOR


class Writes:
    """By the group's name."""

    def __init__(self, file: Path, logger: Logger) -> None:
        self._file = file
        self._writes: dict[str, Write] = {}
        self._previous: Write | None = None
        """What the last write took the place of."""
        try:
            self._writes = {name: _write(fields) for name, fields in json.loads(file.read_text()).items()}
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            logger.warning("aws_writes_forgotten", file=str(file), error=type(error).__name__)

    def size(self, name: str, reported: int, now: datetime) -> int:
        """The group's size, when AWS reports this one."""
        write = self._writes.get(name)
        if write is None:
            return reported
        if write.lasts(now) and reported in write.passed:
            return write.size
        self._writes[name] = replace(write, passed=())  # seen, or overtaken: from now on AWS is believed
        return reported

    def has(self, name: str, change: str) -> bool:
        """Whether this decision was written, or begun to be, lately."""
        return name in self._writes and self._writes[name].change == change

    def ended(self, name: str) -> frozenset[str]:
        """Instances ended by it lately: a read may still show them in service."""
        return frozenset(self._writes[name].ended) if name in self._writes else frozenset()

    def remember(self, name: str, change: str, before: int, size: int, now: datetime, ended: str | None = None) -> None:
        """Before the write is sent. Raises OSError where the state folder cannot be written."""
        self._writes = {each: write for each, write in self._writes.items() if write.lasts(now)}
        self._previous = previous = self._writes.get(name)
        passed = (*(previous.passed if previous else ()), before)
        gone = (*(previous.ended if previous else ()), *((ended,) if ended else ()))
        self._writes[name] = Write(change, passed, size, now.isoformat(), gone)
        self._save()

    def forget(self, name: str) -> None:
        """What was remembered last was certainly not done: what was before it holds again."""
        if self._previous is None:
            del self._writes[name]
        else:
            self._writes[name] = self._previous
        self._save()

    def _save(self) -> None:
        write_atomically(self._file, json.dumps({name: asdict(write) for name, write in self._writes.items()}))


def _write(fields: dict[str, Any]) -> Write:
    at = datetime.fromisoformat(fields["at"]).isoformat()
    ended = tuple(map(str, fields["ended"]))
    return Write(str(fields["change"]), tuple(map(int, fields["passed"])), int(fields["size"]), at, ended)
