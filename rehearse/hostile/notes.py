"""The notes of the adapter of the good autoscaler's connection."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Note:
    """The adapter's note of one call."""

    at: float
    """Its beginning, on the monotonic clock, which all processes share."""
    verb: str
    words: tuple[str, ...]


class Notes:
    """A connection's notes so far. Any thread may use it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._read = 0
        self._notes: list[Note] = []

    def all(self) -> Sequence[Note]:
        """Return all notes, in order."""
        with self._lock:
            if self._file.exists():
                with self._file.open("rb") as file:
                    file.seek(self._read)
                    text = file.read()
                text = text[: text.rfind(b"\n") + 1]
                self._read += len(text)
                for line in text.decode().splitlines():
                    at, verb, *words = line.split()
                    self._notes.append(Note(float(at), verb, tuple(words)))
            return self._notes

    def sizes(self, target: str, since: float = 0.0) -> Sequence[int]:
        """Return the sizes that were written to a target since a time."""
        return [int(note.words[1]) for note in self.all() if _is_write(note, target) and note.at >= since]

    def begun(self, since: float) -> Sequence[float]:
        """Return the times of cycles that began since a time."""
        return [note.at for note in self.all() if note.verb == "observes" and note.at >= since]


def _is_write(note: Note, target: str) -> bool:
    return note.verb == "writes" and note.words[0] == target
