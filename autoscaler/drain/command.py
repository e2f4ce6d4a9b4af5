"""Drains an instance by a program on the daemon's machine, which succeeds when the instance is drained."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import IO, Final

from autoscaler.drain.attempt import ActionContext, Attempt
from autoscaler.target.environment import inherited
from autoscaler.text import plain

INSTANCE_VARIABLE: Final = "AUTOSCALER_INSTANCE"
ADDRESS_VARIABLE: Final = "AUTOSCALER_ADDRESS"
_POLL_SECONDS: Final = 0.1
_GRACE_SECONDS: Final = 5.0
"""Between SIGTERM and SIGKILL of a program that has to end."""
_LONGEST_LINE: Final = 200


def run(command: tuple[str, ...], now: ActionContext) -> Attempt:
    """Run the program until it ends, or its process group is ended because it may not go on."""
    try:
        child = subprocess.Popen(  # noqa: S603 - the operator's command, without a shell
            command,
            cwd="/",
            env=_environment(now),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # its group can be ended as a whole
        )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        return Attempt(done=False, detail=f"{command[0]} cannot be started: {why}")
    assert child.stdout is not None  # noqa: S101 - for mypy: it is a pipe
    with child.stdout as output:
        os.set_blocking(output.fileno(), False)
        last = ""
        while child.poll() is None:
            last = _last_line(output, last)
            if not now.go_on():
                _end(child, output)
                return Attempt(done=False, detail=f"{command[0]} had not ended, and was ended")
            time.sleep(_POLL_SECONDS)
        last = _last_line(output, last)
    if child.returncode == 0:
        return Attempt(done=True)
    how = f"exited with {child.returncode}" if child.returncode > 0 else f"was ended by signal {-child.returncode}"
    return Attempt(done=False, detail=f"{command[0]} {how}" + (f", its last line: {last}" if last else ""))


def _environment(now: ActionContext) -> dict[str, str]:
    address = now.waiting.addresses[0] if now.waiting.addresses else ""
    return inherited() | {INSTANCE_VARIABLE: now.waiting.instance, ADDRESS_VARIABLE: address}


def _last_line(output: IO[bytes], last: str) -> str:
    """Return the last line of the output so far that is not empty. Reads what there is, so that the program goes on."""
    while chunk := output.read(2**16):
        lines = [line for line in chunk.splitlines() if line.strip()]
        if lines:
            last = plain(lines[-1][:_LONGEST_LINE].decode(errors="replace"))
    return last


def _end(child: subprocess.Popen[bytes], output: IO[bytes]) -> None:
    """End the program and its group."""
    _signal(child, signal.SIGTERM)
    until = time.monotonic() + _GRACE_SECONDS
    while not _has_ended(child) and time.monotonic() < until:
        _last_line(output, "")  # a full pipe would keep it from ending
        time.sleep(_POLL_SECONDS)
    _signal(child, signal.SIGKILL)  # also what is left of its group
    child.wait()


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Return whether it has ended, without reaping it: its pid, which names the group, is not reused until then."""
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _signal(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)
