"""The daemon that lives through it all, as its kernel, its log and its adapter show it."""

import json
import re
import resource
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import requests

from bench.processes import resident_mebibytes
from tests.daemon.running import command, environment
from tests.servers import stepped_clock

MOST_MEBIBYTES: Final = 2_500
"""A daemon that takes more is killed before it takes the machine."""
_DESCRIPTORS: Final = 1_024
"""The usual soft limit, and systemd's."""
NOT_JSON: Final = "line that is not JSON"
"""Counted as an event."""
_LISTENING_SECONDS: Final = 60.0
UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""C0 without tab and line feed, DEL, C1, and what turns the direction of writing."""


class BenchError(Exception):
    """There is nothing to measure; the message says why."""


@dataclass(frozen=True, slots=True)
class Note:
    """What the adapter has noted of one call."""

    at: float
    """Its beginning, on the monotonic clock, which all processes share."""
    verb: str
    words: tuple[str, ...]


class Notes:
    """A connection's notes so far. Any thread may read."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._read = 0
        self._notes: list[Note] = []

    def all(self) -> Sequence[Note]:
        """In the order in which they were made."""
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
        """Written to a target since a time."""
        return [int(note.words[1]) for note in self.all() if _is_write(note, target) and note.at >= since]

    def begun(self, since: float) -> Sequence[float]:
        """When cycles began since a time."""
        return [note.at for note in self.all() if note.verb == "observes" and note.at >= since]


def _is_write(note: Note, target: str) -> bool:
    return note.verb == "writes" and note.words[0] == target


@dataclass(slots=True)
class Stretch:
    """A part of the log."""

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
    """Of `cycle_failed` and the like, the first few."""

    def add(self, line: bytes) -> None:
        """One line, its line feed included."""
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
        elif "error" in entry and len(self.errors) < 5:
            self.errors.append(f"{entry['event']}: {entry['error']}"[:300])

    def join(self, later: "Stretch") -> None:
        """Take in what follows."""
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


@dataclass(frozen=True, slots=True)
class Access:
    """Who may reach a daemon, and as whom we do."""

    arguments: Sequence[str] = ()
    """Of `run`."""
    web: Mapping[str, Any] = field(default_factory=dict)
    """The section of the configuration."""
    login: tuple[str, str] | None = None
    """Name and password of a user, where it has users."""
    ca: Path | None = None
    """Whose signature its certificate bears, where it has one."""


OPEN: Final = Access()
"""Neither TLS nor users."""


class Daemon:
    """One process that runs."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, state: Path, access: Access) -> None:
        self.process = process
        self.state = state
        self.access = access
        self.url = ""
        self.killed = False
        """It took more than MOST_MEBIBYTES."""
        self._log = log
        self._read = 0

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def ask(self, path: str, method: str = "GET", timeout: float = 10.0, **more: Any) -> requests.Response:
        """One request on a connection of its own, as its user. Raises requests.RequestException."""
        trusted = True if self.access.ca is None else str(self.access.ca)
        more = {"auth": self.access.login, "verify": trusted, "allow_redirects": False} | more
        return requests.request(method, self.url + path, timeout=timeout, **more)

    def new_log(self) -> Stretch:
        """What it has logged since the last call."""
        stretch = Stretch()
        with self._log.open("rb") as log:
            log.seek(self._read)
            for line in log:
                if line.endswith(b"\n"):
                    self._read += len(line)
                    stretch.add(line)
        return stretch

    def forget_peak(self) -> None:
        """The peak of memory begins anew from here (man 5 proc, clear_refs)."""
        if self.alive:
            Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def peak_mebibytes(self) -> float:
        """VmHWM; a daemon that was killed had more than it may."""
        if not self.alive:
            return float("inf") if self.killed else 0.0
        found = re.search(r"^VmHWM:\s+(\d+) kB$", Path(f"/proc/{self.process.pid}/status").read_text(), re.MULTILINE)
        return int(found[1]) / 1024 if found else 0.0

    def state_bytes(self) -> int:
        """Of the database and what SQLite keeps beside it."""
        return sum(file.stat().st_size for file in self.state.glob("state.db*"))

    def wait_until_it_listens(self) -> None:
        """Until its log says where. Raises BenchError."""
        end = time.monotonic() + _LISTENING_SECONDS
        while not self.url:
            if not self.alive or time.monotonic() > end:
                raise BenchError(f"the daemon does not start:\n{self._log.read_text(errors='replace')[-2000:]}")
            for line in self._log.read_bytes().splitlines():
                if b'"listening"' in line:
                    self.url = json.loads(line)["url"]
            time.sleep(0.05)

    def guard(self) -> None:
        """Kill it when it takes too much, from a thread of its own, until it ends."""

        def watch() -> None:
            while self.alive:
                try:
                    if resident_mebibytes(self.process.pid) > MOST_MEBIBYTES:
                        self.killed = True
                        self.process.kill()
                except (OSError, RuntimeError):  # it has just ended
                    return
                time.sleep(0.05)

        threading.Thread(target=watch, daemon=True).start()


@contextmanager
def running(config: Path, access: Access, env: Mapping[str, str]) -> Iterator[Daemon]:
    """A daemon under the usual limit of descriptors and no umask at all, its state beside `config`.

    Its wall clock can be stepped. Raises BenchError when it does not start.
    """
    state, log = config.parent / "state", config.parent / f"log-{time.monotonic_ns()}"
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with log.open("wb") as output:
        process = subprocess.Popen(
            command(config, "--log.format=json", *access.arguments, program=stepped_clock.PROGRAM),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment(state, **env),
            umask=0,
        )
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (min(_DESCRIPTORS, hard), hard))
    daemon = Daemon(process, log, state, access)
    try:
        daemon.wait_until_it_listens()
        daemon.guard()
        yield daemon
    finally:
        process.kill()
        process.wait()
