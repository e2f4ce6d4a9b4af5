"""Programs that the daemon starts for an operator: their environment, their limits, and how they end."""

import os
import selectors
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from autoscaler.errors import AutoscalerError
from autoscaler.text import plain

INHERITED: Final = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR")
"""The variables that such a program inherits. The daemon's other variables may be tokens and systemd's sockets."""
GRACE_SECONDS: Final = 5.0
"""Between SIGTERM and SIGKILL of a program that has to end."""
_STEP_SECONDS: Final = 0.1
"""Between two looks whether a program may go on."""
_CLOSED_SECONDS: Final = 0.01
"""The same for a program that has closed its output, as one does that ends."""
_ENDS_WITHIN_SECONDS: Final = 1.0
"""After SIGKILL. A program that waits for a disk ends later."""
_CHUNK: Final = 2**16
_LAST_READS: Final = 32
"""Of what an ended program left in its pipes, which hold at most 1 MiB."""
_SAID_BYTES: Final = 4096
_MAX_LINE: Final = 200


class ProgramFailed(AutoscalerError):
    """A program did not succeed. What it did is unknown. The message begins with its path."""


class NotStarted(ProgramFailed):
    """A program did not run."""


def inherited() -> dict[str, str]:
    """Return the variables of INHERITED that this process has."""
    return {name: os.environ[name] for name in INHERITED if name in os.environ}


def run(
    command: Sequence[str],
    go_on: Callable[[], bool],
    *,
    env: Mapping[str, str],
    request: bytes = b"",
    largest: int = 0,
    grace_seconds: float = GRACE_SECONDS,
) -> bytes:
    """Return the standard output of a program that exits with 0. No shell runs; its working directory is `/`.

    `go_on` is asked ten times a second. Once it is false, or when the output has more than `largest` bytes, the
    program's process group gets SIGTERM, and SIGKILL `grace_seconds` later. What a program leaves in its group ends
    with it. `env`: variables beside the inherited ones. `request`: its standard input. With a `largest` of 0 the output
    is not kept. An error holds the last line of standard error, or of any output that is not kept. Raises
    ProgramFailed.
    """
    if (problem := refusal(command[0])) is not None:
        raise NotStarted(problem)
    child = _start(command, env, request, keeps=largest > 0)
    streams = _Streams(child, largest)
    try:
        why = _follow(child, streams, go_on, grace_seconds)
    finally:
        _signal(child, signal.SIGKILL)  # also what is left of its group
        with suppress(subprocess.TimeoutExpired):
            child.wait(_ENDS_WITHIN_SECONDS)
        streams.close()
    code = child.returncode
    if streams.too_large:
        why = f"wrote more than {largest:,} bytes, and was ended"
    elif not why and code != 0:
        why = f"exited with {code}" if code > 0 else f"was ended by signal {-code}"
    if why:
        last = streams.last_line()
        raise ProgramFailed(f"{command[0]} {why}" + (f", its last line: {last}" if last else ""))
    return bytes(streams.output)


def refusal(program: str) -> str | None:
    """Return why a program is not run, and the remedy: every user could change or replace it. None: it may run."""
    try:
        real = Path(program).resolve(strict=True)
        for path in (real, *real.parents, *Path(program).parents):
            mode = path.stat().st_mode
            if mode & stat.S_IWOTH and not (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
                what = "it" if path == real else f"the folder {path}"
                return f"{program} is not run, because every user may change {what}; chmod o-w {path}"
    except (OSError, RuntimeError, ValueError):  # its start says why
        return None
    return None


def unusable(program: str) -> str | None:
    """Return why a program would not run here, and the remedy; None: no problem is known."""
    if (problem := refusal(program)) is not None:
        return problem
    if not os.path.exists(program):  # noqa: PTH110 - `Path.exists` raises where a folder is closed
        return f"{program} does not exist here; install it, or correct the path"
    may_run = os.path.isfile(program) and os.access(program, os.X_OK)  # noqa: PTH113 - likewise
    return None if may_run else f"{program} is not a program that this user may run; check the path and its permissions"


def _start(command: Sequence[str], env: Mapping[str, str], request: bytes, *, keeps: bool) -> subprocess.Popen[bytes]:
    try:
        with os.fdopen(os.memfd_create("request"), "r+b") as given:  # unlike a pipe, it is never full
            given.write(request)
            given.seek(0)
            return subprocess.Popen(  # noqa: S603 - the operator's command, without a shell
                command,
                cwd="/",
                env={**inherited(), **env},
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if keeps else subprocess.STDOUT,
                start_new_session=True,  # its group can be ended as a whole
            )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise NotStarted(f"{command[0]} cannot be started: {why}") from None


def _follow(
    child: subprocess.Popen[bytes], streams: "_Streams", go_on: Callable[[], bool], grace_seconds: float
) -> str:
    """Read what the program writes until it ends, or SIGKILL is due. Returns why it had to end; empty: it did not."""
    why, until = "", float("inf")
    while not _has_ended(child) and time.monotonic() < until:
        streams.read(_STEP_SECONDS)
        if why:
            continue
        if streams.too_large or not go_on():
            why = "had not ended, and was ended"
            _signal(child, signal.SIGTERM)
            until = time.monotonic() + grace_seconds
    return why


class _Streams:
    """What a program writes, in bounded memory. It is read even when it is not kept: a full pipe stops a program."""

    def __init__(self, child: subprocess.Popen[bytes], largest: int) -> None:
        self._largest = largest
        self.output = bytearray()
        self.too_large = False
        self._said = b""
        self._files: list[IO[bytes]] = []
        self._selector = selectors.PollSelector()  # needs no descriptor, of which there may be none left
        for file, kept in ((child.stdout, largest > 0), (child.stderr, False)):
            if file is not None:
                self._files.append(file)
                self._selector.register(file, selectors.EVENT_READ, self._keep if kept else self._hear)

    def read(self, seconds: float) -> bool:
        """Wait at most this long for output, and read it. Returns whether there was any."""
        found = self._selector.select(seconds if self._selector.get_map() else min(seconds, _CLOSED_SECONDS))
        for key, _ in found:
            if chunk := os.read(key.fd, _CHUNK):
                key.data(chunk)
            else:
                self._selector.unregister(key.fileobj)
        return bool(found)

    def close(self) -> None:
        """Read what an ended program has left. A process that has left its group may hold the pipes open."""
        for _ in range(_LAST_READS):
            if not self.read(0):
                break
        self._selector.close()
        for file in self._files:
            file.close()

    def last_line(self) -> str:
        """Return the last line that is not empty, as short foreign text."""
        lines = [line for line in self._said.splitlines() if line.strip()]
        return plain(lines[-1][:_MAX_LINE].decode(errors="replace")) if lines else ""

    def _keep(self, chunk: bytes) -> None:
        self.too_large = self.too_large or len(self.output) + len(chunk) > self._largest
        if not self.too_large:
            self.output += chunk

    def _hear(self, chunk: bytes) -> None:
        self._said = (self._said + chunk)[-_SAID_BYTES:]


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Return whether it has ended, without reaping it: its pid, which names the group, is not reused until then."""
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _signal(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)
