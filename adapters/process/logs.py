"""A pool's log: the file to which its workers append their output."""

import errno
import os
import stat
from pathlib import Path

from autoscaler.target import plain

_END_BYTES = 4096
_MAX_LINE = 300
"""Bytes shown of a log's last line."""
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_log(log: Path) -> int:
    """Return a file descriptor that appends to the log. Raises OSError, also if it is a link or no regular file."""
    number = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _FLAGS, 0o600)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "it is not a regular file", str(log))
    return number


def last_line(log: Path) -> str:
    """Return the last line of a log that is not empty, as short plain text; empty when there is none."""
    try:
        number = os.open(log, os.O_RDONLY | _FLAGS)
    except OSError:  # the worker may have removed the file
        return ""
    try:
        end = os.pread(number, _END_BYTES, max(0, os.fstat(number).st_size - _END_BYTES)).decode(errors="replace")
    except OSError:  # the worker may replace the file
        return ""
    finally:
        os.close(number)
    return plain(next((line.strip() for line in reversed(end.splitlines()) if line.strip()), ""), _MAX_LINE)
