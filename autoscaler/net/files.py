"""Writes files atomically, and reads files that another program may have replaced."""

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

MAX_SECRET_BYTES: Final = 64 * 2**10
"""Largest file with a password or a token."""
_OF_THE_SERVICE: Final = Path("/run/autoscaler")
"""systemd makes it when it starts the service (RuntimeDirectory=); all users may enter it."""
_HANDED_OVER: Final = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")
"""Paths of open file descriptors, such as a shell's `<(…)`."""


def read_bounded(path: Path, most: int = MAX_SECRET_BYTES) -> bytes:
    """Return the file's content. It follows links, because credentials are often links.

    It never waits for a writer: a pipe is read only as an open descriptor, such as standard input or `<(…)`. Raises
    OSError, also when the path is not a regular file or its content is longer than `most` bytes.
    """
    handed_over = str(path).startswith(_HANDED_OVER)
    with open(path, "rb", opener=_open_at_once) as file:
        status = os.fstat(file.fileno())
        if handed_over:
            os.set_blocking(file.fileno(), True)  # its writer may still write
        elif not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        content = b"" if stat.S_ISREG(status.st_mode) and status.st_size > most else file.read(most + 1)
    if len(content) > most or (not content and status.st_size > most):
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes")
    return content


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def read_secret(path: Path) -> str:
    """Return the password or token in a file, without surrounding white space. Raises OSError, UnicodeDecodeError."""
    return read_bounded(path).decode().strip()


def write_atomically(path: Path, content: str | bytes, *, mode: int = 0o600) -> None:
    """Replace the content of `path` in one step; a reader sees the old or the new content. Text is UTF-8.

    `mode`: the file's permissions, regardless of the umask. The content survives a power cut. A link or pipe at `path`
    is replaced, not opened. Raises OSError; `path` is then unchanged.
    """
    data = content.encode() if isinstance(content, str) else content
    draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.new")  # no other user can create this name first
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, mode)
            file.write(data)
            file.flush()
            os.fsync(handle)
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    with suppress(OSError):  # readers see the new content in any case
        sync(path.parent)


def open_or_create(path: Path, how: int, mode: int) -> int:
    """Return a descriptor of the file, which is created with `mode` if absent. Raises OSError.

    `how`: the flags to open it with. A file that root creates in the service's folder gets the folder's owner, because
    the service must open it later.
    """
    try:
        handle = os.open(path, how | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        return os.open(path, how | os.O_CREAT, mode)
    if os.geteuid() == 0:  # only a new file is certain to be in this folder and no link
        folder = path.parent.stat()
        os.fchown(handle, folder.st_uid, folder.st_gid)
    return handle


def unwritable(path: Path) -> str | None:
    """Return why the folder prevents writing a file at `path`, and the remedy; None: no problem is known."""
    folder = path.parent
    if folder == _OF_THE_SERVICE:
        return None
    try:
        is_folder = stat.S_ISDIR(folder.stat().st_mode)
    except FileNotFoundError:
        return f"the folder {folder} does not exist; create it, writable for the daemon"
    except NotADirectoryError:
        is_folder = False
    except OSError:  # this user may not look it up
        return None
    return None if is_folder else f"{folder} is not a folder; correct the path"


def unreadable_for_others(path: Path) -> str | None:
    """Return why a folder above `path` prevents other users from reading it; None: no problem is known."""
    closed = closed_folder(path)
    if closed is None:
        return None
    folder, mode = closed
    return (
        f"{folder} lets no other user in (mode {mode:04o}), so a Prometheus that runs as another user cannot read "
        f"{path}; write it elsewhere, as in {_OF_THE_SERVICE}"
    )


def closed_folder(path: Path) -> tuple[Path, int] | None:
    """Return the first folder above `path`, from the root, that other users cannot enter, and its mode.

    None: no such folder is known.
    """
    try:
        folder = path.parent.resolve(strict=True)
        modes = ((each, stat.S_IMODE(each.stat().st_mode)) for each in (*reversed(folder.parents), folder))
        return next(((each, mode) for each, mode in modes if not mode & 0o001), None)
    except (OSError, RuntimeError):  # absent, not accessible to this user, or a loop of links
        return None


def sync(path: Path) -> None:
    """Flush a file's content, or a folder's entries, to the disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
