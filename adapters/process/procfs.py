"""Processes according to /proc (man 5 proc), on Linux only."""

import contextlib
import functools
import os
import signal
import uuid
from dataclasses import dataclass
from pathlib import Path

TOKEN_VARIABLE = "AUTOSCALER_WORKER"  # noqa: S105 - the name of a variable, whose value is not a secret either
"""Environment variable with the worker's token, which its child processes inherit."""

_PROC = Path("/proc")
_ENDED = "ZX"
"""States of a process that has ended and is not reaped."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Identifies one process: pids are reused, start times and boots tell their processes apart."""

    pid: int
    start_ticks: int
    """Clock ticks after boot (field 22 of /proc/PID/stat)."""
    boot_id: str


def available(proc: Path = _PROC) -> bool:
    """Return whether /proc exists and the boot id is known."""
    return (proc / "self/stat").exists() and bool(boot_id(proc))


@functools.cache
def boot_id(proc: Path = _PROC) -> str:
    """Return an id that changes with every boot; "" when it is unknown."""
    try:
        # From systemd's %b where the unit passes it: a sandbox may hide the file or show another one's.
        return str(uuid.UUID(os.environ.get("AUTOSCALER_BOOT_ID", "")))
    except ValueError:  # not given, or not by systemd
        file = proc / "sys/kernel/random/boot_id"
        return file.read_text().strip() if file.exists() else ""


def identify(pid: int) -> Identity | None:
    """Return the process that has this pid now, including a zombie, or None."""
    stat = _stat(pid)
    return None if stat is None else Identity(pid, stat[1], boot_id())


def runs(identity: Identity) -> bool:
    """Return whether this process still runs. A zombie does not."""
    stat = _stat(identity.pid)
    return stat is not None and _is_of(stat, identity) and stat[0] not in _ENDED


def reap(identity: Identity) -> int | None:
    """Reap an ended process: return its exit code, or the negative number of the signal that ended it.

    None: it runs, was reaped before, or is not our child. init adopts a worker after a restart of the daemon.
    """
    stat = _stat(identity.pid)
    if stat is None or not _is_of(stat, identity) or stat[0] not in _ENDED:
        return None
    try:
        pid, status = os.waitpid(identity.pid, os.WNOHANG)
    except ChildProcessError:
        return None
    return os.waitstatus_to_exitcode(status) if pid else None


def carriers(token: str) -> list[int]:
    """Return the pids of running processes that carry the token, without other users' processes."""
    wanted = f"{TOKEN_VARIABLE}={token}".encode()
    pids = sorted(int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())
    return [pid for pid in pids if _carries(pid, wanted)]


def leader(token: str) -> Identity | None:
    """Return the worker that was started with the token: the carrier that leads its session."""
    for pid in carriers(token):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(pid) == pid:
                return identify(pid)
    return None


def signal_group(identity: Identity, number: signal.Signals) -> bool:
    """Signal the worker and its process group. Return False when it has ended, and its pid may be reused."""
    if not runs(identity):
        return False
    with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
        os.killpg(identity.pid, number)
    return True


def signal_carriers(token: str, number: signal.Signals) -> None:
    """Signal each process that carries the token, by a pidfd, so that a reused pid is not signalled."""
    wanted = f"{TOKEN_VARIABLE}={token}".encode()
    for pid in carriers(token):
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(pid)
            try:
                if _carries(pid, wanted):
                    signal.pidfd_send_signal(handle, number)
            finally:
                os.close(handle)


def _carries(pid: int, wanted: bytes) -> bool:
    try:
        return wanted in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:  # gone meanwhile, or another user's
        return False


def _is_of(stat: tuple[str, int], identity: Identity) -> bool:
    return stat[1] == identity.start_ticks and identity.boot_id == boot_id()


def _stat(pid: int) -> tuple[str, int] | None:
    """Return the state letter and the start time."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:  # no such process; ESRCH when it ends between open and read
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may contain anything, parentheses too
    return fields[0], int(fields[19])
