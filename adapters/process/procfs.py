"""Processes as /proc shows them (man 5 proc). Linux only, and all that is needed of it."""

import contextlib
import functools
import os
import signal
import uuid
from dataclasses import dataclass
from pathlib import Path

TOKEN_VARIABLE = "AUTOSCALER_WORKER"  # noqa: S105 - the name of a variable; what it holds is not a secret either
"""Every worker, and all that it starts, carries its token in this environment variable."""

_PROC = Path("/proc")
_ENDED = "ZX"
"""States of a process that has ended and whose parent has not asked how."""


@dataclass(frozen=True, slots=True)
class Identity:
    """One process and no other: pids come round again, start times and boots tell them apart."""

    pid: int
    start_ticks: int
    """Clock ticks after boot (field 22 of /proc/PID/stat)."""
    boot_id: str


def available() -> bool:
    """Whether this system has /proc, and says which of its boots this is."""
    return (_PROC / "self/stat").exists() and bool(boot_id())


@functools.cache
def boot_id() -> str:
    """Changes with every boot of the machine; "" when nothing says it."""
    try:
        # From systemd's %b where our unit hands it over, for a sandbox may hide the file, or show another one's.
        return str(uuid.UUID(os.environ.get("AUTOSCALER_BOOT_ID", "")))
    except ValueError:  # not given, or not by systemd
        file = _PROC / "sys/kernel/random/boot_id"
        return file.read_text().strip() if file.exists() else ""


def identify(pid: int) -> Identity | None:
    """Who has this pid now, a zombie included; None: nobody."""
    stat = _stat(pid)
    return None if stat is None else Identity(pid, stat[1], boot_id())


def runs(identity: Identity) -> bool:
    """Whether this very process still runs. A zombie does not; `reap` lets it go."""
    stat = _stat(identity.pid)
    return stat is not None and _is_of(stat, identity) and stat[0] not in _ENDED


def reap(identity: Identity) -> int | None:
    """Let a process go that has ended: its exit code, or the negative number of the signal that ended it.

    None: it runs, it was let go before, or it is not our child. One that was adopted after a restart is init's.
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
    """Pids of all running processes that carry the token; what other users run cannot be read and is none."""
    wanted = f"{TOKEN_VARIABLE}={token}".encode()
    pids = sorted(int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())
    return [pid for pid in pids if _carries(pid, wanted)]


def leader(token: str) -> Identity | None:
    """The worker that was started with the token: the one of its carriers that leads their session."""
    for pid in carriers(token):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(pid) == pid:
                return identify(pid)
    return None


def signal_group(identity: Identity, number: signal.Signals) -> bool:
    """Signal the worker and all of its process group. False: it has ended, and its pid may be another's by now."""
    if not runs(identity):
        return False
    with contextlib.suppress(ProcessLookupError):  # it ended this very moment
        os.killpg(identity.pid, number)
    return True


def signal_carriers(token: str, number: signal.Signals) -> None:
    """Signal each process that carries the token, held by a pidfd so that no other can take its pid meanwhile."""
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
    """State letter and start time."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:  # no such process; ESRCH when it ends between open and read
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold anything, parentheses too
    return fields[0], int(fields[19])
