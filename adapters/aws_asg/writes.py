"""Sizes written lately: AWS's reads lag its writes, so they are believed until AWS shows them.

A group that still reports a size that our write left behind has not been changed by somebody; one that reports a
third size has. Kept in the adapter's memory, so that a restart does not forget a write that no read shows yet.
"""

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from autoscaler.target import AdapterMemory, Clock, Logger, Moment, StateError, TargetRef

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
    boot: str = ""
    """Which start of the machine `elapsed` counts from."""
    elapsed: float = 0.0
    """The same time in seconds since then: `at` alone would mislead when the wall clock is set."""

    def lasts(self, moment: Moment) -> bool:
        """Whether a read may still not show it."""
        if moment.boot == self.boot:
            return moment.elapsed - timedelta(seconds=self.elapsed) < BELIEVED_FOR
        return abs(moment.now - datetime.fromisoformat(self.at)) < BELIEVED_FOR


class Writes:
    """By the group's name; for several threads, each group's for one at a time."""

    def __init__(self, connection: str, memory: AdapterMemory, clock: Clock, logger: Logger) -> None:
        """`connection`: the adapter's name in the configuration."""
        self._connection = connection
        self._memory = memory
        self._clock = clock
        self._logger = logger
        self._lock = threading.RLock()  # held while something is saved: what is saved last is what is remembered
        self._writes: dict[str, Write] = {}
        self._loaded = False
        self._previous: dict[str, Write | None] = {}
        """What the last write of each group took the place of."""

    def reload(self) -> None:
        """Recall at the next `load` also what another daemon has written meanwhile."""
        with self._lock:
            self._loaded = False

    def load(self) -> None:
        """Recall what was written before a restart; once, and after each `reload`. Raises StateError."""
        with self._lock:
            if self._loaded:
                return
            for target, values in self._memory.load().items():
                self._recall(target.name, values)
            self._loaded = True

    def _recall(self, name: str, values: Any) -> None:
        try:
            write, known = _write(values), self._writes.get(name)
            if known is None or known.change != write.change:  # else it may have been seen since, which is not saved
                self._writes[name] = write
        except (ValueError, TypeError, KeyError) as error:
            self._logger.warning("aws_write_forgotten", group=name, error=type(error).__name__)

    def size(self, name: str, reported: int) -> int:
        """The group's size, when AWS reports this one."""
        with self._lock:
            write = self._writes.get(name)
            if write is None:
                return reported
            if write.lasts(self._clock.moment()) and reported in write.passed:
                return write.size
            self._writes[name] = replace(write, passed=())  # seen, or overtaken: from now on AWS is believed
            return reported

    def has(self, name: str, change: str) -> bool:
        """Whether this decision was written, or begun to be, lately."""
        write = self._writes.get(name)
        return write is not None and write.change == change

    def ended(self, name: str) -> frozenset[str]:
        """Instances ended by it lately: a read may still show them in service."""
        write = self._writes.get(name)
        return frozenset() if write is None else frozenset(write.ended)

    def remember(self, name: str, change: str, before: int, size: int, ended: str | None = None) -> None:
        """Before the write is sent. Raises StateError where it cannot be kept: then it must not be sent."""
        moment = self._clock.moment()
        at, seconds = moment.now.isoformat(), moment.elapsed.total_seconds()
        with self._lock:
            self._drop_old(moment)
            self._previous[name] = previous = self._writes.get(name)
            passed = (*(previous.passed if previous else ()), before)
            gone = (*(previous.ended if previous else ()), *((ended,) if ended else ()))
            self._writes[name] = Write(change, passed, size, at, gone, moment.boot, seconds)
            try:
                self._save(name)
            except StateError:
                self._restore(name)
                raise

    def forget(self, name: str) -> None:
        """What was remembered last was certainly not done: what was before it holds again."""
        with self._lock:
            self._restore(name)
            self._try_to_save(name)

    def _restore(self, name: str) -> None:
        previous = self._previous.pop(name, None)
        if previous is None:
            self._writes.pop(name, None)
        else:
            self._writes[name] = previous

    def _drop_old(self, moment: Moment) -> None:
        for name in [name for name, write in self._writes.items() if not write.lasts(moment)]:
            del self._writes[name]
            self._previous.pop(name, None)
            self._try_to_save(name)

    def _try_to_save(self, name: str) -> None:
        """What stays in the memory too long is only believed for a minute."""
        try:
            self._save(name)
        except StateError as error:
            self._logger.warning("aws_write_not_forgotten", group=name, error=str(error))

    def _save(self, name: str) -> None:
        write = self._writes.get(name)
        self._memory.save(TargetRef(self._connection, name), None if write is None else asdict(write))


def _write(fields: Mapping[str, Any]) -> Write:
    at = datetime.fromisoformat(fields["at"]).isoformat()
    ended = tuple(map(str, fields["ended"]))
    passed = tuple(map(int, fields["passed"]))
    boot, elapsed = str(fields.get("boot", "")), float(fields.get("elapsed", 0))
    return Write(str(fields["change"]), passed, int(fields["size"]), at, ended, boot, elapsed)
