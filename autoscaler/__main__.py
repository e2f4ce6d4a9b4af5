"""The console script `autoscaler`, and `python -m autoscaler`."""

import errno
import io
import os
import signal
import sys
import warnings
from typing import Final

from autoscaler.cli.app import app

_UNUSED: Final = ("rich", "charset_normalizer")
"""What libraries load because it is installed, for what is never asked of them: 6 MiB of the daemon's memory.

structlog draws tracebacks with the first (typer needs it, and is told not to use it); requests guesses the encoding of
a text with the second, where we read bytes.
"""
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

_OF_SHELLS: Final = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU})
"""Shells and nohup ignore these for a program in the background. `run` handles the first two in any case."""
_OF_PYTHON: Final = frozenset({signal.SIGPIPE, signal.SIGXFSZ})
"""Python ignores these itself, and no program that it starts inherits that."""
_STREAMS: Final = {"stdin": "r", "stdout": "w", "stderr": "w"}


def reset_signals() -> None:
    """Handle signals as if a login shell had started this process, whatever its parent blocks or ignores.

    With SIGCHLD ignored no program's end is seen, and with SIGTERM blocked nothing but SIGKILL ends the daemon. The
    programs that this process starts inherit the same.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals() - _OF_SHELLS - _OF_PYTHON:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def open_streams() -> None:
    """Open a standard stream that the parent has closed on /dev/null: a file of the state must not get its number.

    What cannot be encoded for standard output becomes `?`: the name of a file may hold any bytes.
    """
    for name, mode in _STREAMS.items():
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)  # the lowest free one, which is the stream's own
            setattr(sys, name, os.fdopen(number, mode))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def main() -> None:
    """Run the command line; exits with its code."""
    reset_signals()
    open_streams()
    for unused in _UNUSED:
        sys.modules.setdefault(unused, None)  # type: ignore[arg-type]  # None: its import fails (importlib)
    warnings.filterwarnings("ignore", "Unable to find acceptable character detection dependency")  # requests misses it
    try:
        app(prog_name="autoscaler")
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left of it would fail again at the end
        sys.stderr.write(f"the output cannot be written: {error.strerror}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
