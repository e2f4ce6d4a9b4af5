"""Replaces files in one step."""

import os
import secrets
from contextlib import suppress
from pathlib import Path


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


def _sync_folder(folder: Path) -> None:
    """Make the new name durable. What fails here changes nothing for who reads, so it is not an error."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
