"""Replaces files in one step, and reads what somebody else may have put in their place."""

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

MOST_SECRET_BYTES: Final = 64 * 2**10
"""Of a file with a password or a token."""
_OF_THE_SERVICE: Final = Path("/run/autoscaler")
"""Made by systemd when it starts the service (RuntimeDirectory=), open to all users."""
_HANDED_OVER: Final = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")
"""Where files are that are open already: `<(…)` of a shell is one."""


def read_bounded(path: Path, most: int = MOST_SECRET_BYTES) -> bytes:
    """The file's content; links are followed, for credentials are often links.

    Never waits for somebody to write: a pipe is only read where it is open already, as standard input or as `<(…)`.
    Raises OSError, also for what is not a regular file and for more than `most` bytes, which are not kept.
    """
    handed_over = str(path).startswith(_HANDED_OVER)
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if handed_over:
            os.set_blocking(handle, True)  # its writer may still be at work
        elif not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        content = b"" if stat.S_ISREG(status.st_mode) and status.st_size > most else file.read(most + 1)
    if len(content) > most or (not content and status.st_size > most):
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes")
    return content


def read_secret(path: Path) -> str:
    """The password or token in a file, without white space around it. Raises OSError, UnicodeDecodeError."""
    return read_bounded(path).decode().strip()


def write_atomically(path: Path, content: str | bytes, *, mode: int = 0o600, durable: bool = True) -> None:
    """Whoever reads `path` finds the old content or the new one, whole; text is written as UTF-8.

    `mode`: the file's permissions, whatever the umask. `durable`: it survives a power cut when this returns. What is at
    `path` is replaced, not opened, be it a link or a pipe. Raises OSError; `path` is as it was then.
    """
    data = content.encode() if isinstance(content, str) else content
    draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.new")  # nobody can put something there before
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, mode)
            file.write(data)
            file.flush()
            if durable:
                os.fsync(handle)
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    if durable:
        _sync_folder(path.parent)


def unwritable(path: Path) -> str | None:
    """Why no file can be written at `path` because of its folder, and what to do; None: nothing is known."""
    folder = path.parent
    if folder == _OF_THE_SERVICE:
        return None
    try:
        is_folder = stat.S_ISDIR(folder.stat().st_mode)
    except FileNotFoundError:
        return f"the folder {folder} does not exist; create it, writable for the daemon"
    except NotADirectoryError:
        is_folder = False
    except OSError:  # it is not for us to know
        return None
    return None if is_folder else f"{folder} is not a folder; correct the path"


def unreadable_for_others(path: Path) -> str | None:
    """Why another user could not read a file at `path` because of a folder above it; None: nothing is known."""
    closed = closed_folder(path)
    if closed is None:
        return None
    folder, mode = closed
    return (
        f"{folder} lets no other user in (mode {mode:04o}), so a Prometheus that runs as another user cannot read "
        f"{path}; write it elsewhere, as in {_OF_THE_SERVICE}"
    )


def closed_folder(path: Path) -> tuple[Path, int] | None:
    """The first of the folders above `path`, from the root on, that only its owner or group may enter, and its mode.

    None: there is none, or it is not known.
    """
    try:
        folder = path.parent.resolve(strict=True)
        modes = ((each, stat.S_IMODE(each.stat().st_mode)) for each in (*reversed(folder.parents), folder))
        return next(((each, mode) for each, mode in modes if not mode & 0o001), None)
    except (OSError, RuntimeError):  # absent, or not for us to know; or links in a circle
        return None


def _sync_folder(folder: Path) -> None:
    """Make the new name durable. What fails here changes nothing for who reads, so it is not an error."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
