"""What was written lately: AWS's reads lag its writes, so a size that AWS has accepted is believed until AWS shows it.

A group that still reports a size that our write left behind has not been changed by somebody; one that reports a
third size has. Kept in the adapter's memory, so that a restart forgets neither a size that no read shows yet nor an
instance that may be leaving. A size is kept once AWS has answered: before that it may never come about. While a request
is under way none is kept: what was believed before it would hide a size that it has set and whose answer was lost.
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
    """The last changes of a group's size."""

    change: str
    """The id of the decision."""
    passed: tuple[int, ...]
    """Sizes that the group had before and on the way; empty: AWS is believed."""
    size: int
    """That AWS accepted last."""
    at: str
    """ISO 8601, UTC."""
    ended: tuple[str, ...] = ()
    """Instances that were ended by name, or may have been."""
    unanswered: bool = False
    """Whether no answer came for the last of `ended`."""
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
        self._lock = threading.Lock()
        """For the attributes below, never held while the memory is asked: `size` must not wait for a commit."""
        self._loading = threading.Lock()
        self._writes: dict[str, Write] = {}
        self._loaded = False
        self._previous: dict[str, Write | None] = {}
        """What the last end of an instance of each group took the place of."""

    def load(self) -> None:
        """Recall what was written before a restart, once. Raises StateError."""
        with self._loading:
            if self._loaded:
                return
            with self._lock:
                before = dict(self._writes)
            remembered = self._memory.load()
            with self._lock:
                for target, values in remembered.items():
                    if self._writes.get(target.name) is before.get(target.name):  # else a write has ended meanwhile
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
        moment = self._clock.moment()
        with self._lock:
            write = self._writes.get(name)
            if write is None or not write.passed:
                return reported
            if write.lasts(moment) and reported in write.passed:
                return write.size
            self._writes[name] = replace(write, passed=())  # seen, or overtaken: from now on AWS is believed
            return reported

    def has(self, name: str, change: str) -> bool:
        """Whether this decision was written, or begun to be, lately."""
        write = self._lasting(name)
        return write is not None and write.change == change

    def ended(self, name: str) -> frozenset[str]:
        """Instances ended lately, or that may have been: a read may still show them in service."""
        write = self._lasting(name)
        return frozenset() if write is None else frozenset(write.ended)

    def unanswered(self, name: str) -> str | None:
        """The instance of which it is unknown whether it was ended lately; None: there is none."""
        write = self._lasting(name)
        return write.ended[-1] if write is not None and write.unanswered else None

    def ending(self, name: str, change: str, victim: str, size: int) -> None:
        """An instance of a group of this size is about to be ended: it is remembered before that is sent.

        Raises StateError where it cannot be kept: then it must not be sent.
        """
        moment = self._clock.moment()
        before = self._lasting(name) or Write(change, (), size, "")
        with self._lock:
            self._previous[name] = self._writes.get(name)
            self._writes[name] = _timed(
                replace(before, change=change, ended=(*before.ended, victim), unanswered=True), moment
            )
        try:
            self._save(name, believed=False)
        except StateError:
            self._restore(name)
            raise

    def asking(self, name: str) -> None:
        """A size is about to be asked for: no older one is kept meanwhile.

        Raises StateError where that cannot be kept: then it must not be sent.
        """
        if self._lasting(name) is not None:
            self._save(name, believed=False)

    def unknown(self, name: str) -> None:
        """Whether the last request was carried out is unknown: AWS is believed."""
        with self._lock:
            if (write := self._writes.get(name)) is not None:
                self._writes[name] = replace(write, passed=())

    def forget(self, name: str) -> None:
        """The end that was remembered last was certainly not done: what was before it holds again."""
        self._restore(name)
        self._try_to_save(name)

    def accepted(self, name: str, change: str, before: int, size: int, *, ended: bool = False) -> None:
        """AWS has answered that the group's size, which was `before`, is now `size`; `ended`: by the last `ending`."""
        moment = self._clock.moment()
        known = self._lasting(name) or Write(change, (), before, "")
        with self._lock:
            self._previous.pop(name, None)
            passed, unanswered = tuple(dict.fromkeys((*known.passed, before))), known.unanswered and not ended
            self._writes[name] = _timed(
                replace(known, change=change, passed=passed, size=size, unanswered=unanswered), moment
            )
        self._try_to_save(name)

    def _lasting(self, name: str) -> Write | None:
        with self._lock:
            write = self._writes.get(name)
        return write if write is not None and write.lasts(self._clock.moment()) else None

    def _restore(self, name: str) -> None:
        with self._lock:
            previous = self._previous.pop(name, None)
            if previous is None:
                self._writes.pop(name, None)
            else:
                self._writes[name] = previous

    def _try_to_save(self, name: str) -> None:
        """What stays in the memory too long, or is not there after a restart, is AWS's to say after a minute."""
        try:
            self._save(name)
        except StateError as error:
            self._logger.warning("aws_write_not_kept", group=name, error=str(error))

    def _save(self, name: str, *, believed: bool = True) -> None:
        """`believed`: whoever recalls it is to believe its size."""
        with self._lock:
            write = self._writes.get(name)
        if write is not None and not believed:
            write = replace(write, passed=())
        self._memory.save(TargetRef(self._connection, name), None if write is None else asdict(write))


def _timed(write: Write, moment: Moment) -> Write:
    return replace(write, at=moment.now.isoformat(), boot=moment.boot, elapsed=moment.elapsed.total_seconds())


def _write(fields: Mapping[str, Any]) -> Write:
    return Write(
        str(fields["change"]),
        tuple(map(int, fields["passed"])),
        int(fields["size"]),
        datetime.fromisoformat(fields["at"]).isoformat(),
        tuple(map(str, fields["ended"])),
        bool(fields["unanswered"]),
        str(fields["boot"]),
        float(fields["elapsed"]),
    )
