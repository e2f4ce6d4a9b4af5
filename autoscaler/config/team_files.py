"""Looks at the folders of teams, and reads their files.

A team may put anything into its folder: links, pipes, a million names. Only regular files are read that not every user
may write, up to a limited size, and a folder is entered without following links. What a limit refuses costs its own
folder alone. Hard links are read: to refuse them would let one team refuse another's file by linking to it.
"""

import errno
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from autoscaler.config.source import decoded
from autoscaler.errors import ConfigError, Problem

MAX_FILES: Final = 100
"""Files of one team."""
MAX_BYTES: Final = 512 * 2**10
"""Of all files of one team together: some thousand autoscalers."""
_MAX_ENTRIES: Final = 1_000
"""Names in one folder."""
_NAME: Final = re.compile(r"[A-Za-z0-9][-_.A-Za-z0-9]{0,99}\.ya?ml")
"""Of the files that are read. Other names, such as README.md and an editor's drafts, are left alone."""
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

Mark: TypeAlias = tuple[int, ...]
"""Differs between versions of a file: folder's and own device and inode, size, and times of the last changes."""


class Seen(NamedTuple):
    """A file in a team's folder."""

    team: str
    mark: Mark
    problem: str = ""
    """Why it is not read; empty: it may be read."""


@dataclass(frozen=True, slots=True)
class Look:
    """What is in the folders of teams at one time."""

    files: Mapping[Path, Seen]
    """By path, sorted by team and name."""
    problems: Mapping[str, Problem]
    """What is wrong with a team's whole folder, by its name. With the name "": with the folder of all."""
    folders: Mapping[str, Mark]
    """The teams whose folder was read, with the beginning of the marks of its files."""


def look(folder: Path, teams: Collection[str]) -> Look:
    """Return what is in the folders of these teams. Folders of others are named as problems."""
    files: dict[Path, Seen] = {}
    problems: dict[str, Problem] = {}
    folders: dict[str, Mark] = {}
    try:
        with _opened(folder, None, _FOLDER & ~os.O_NOFOLLOW) as handle:
            names = _entries(handle)
            for name in sorted(names):
                place = folder / name
                if name in teams:
                    try:
                        with _opened(name, handle, _FOLDER) as inner:
                            files |= {place / each: seen for each, seen in _look_at(inner, name)}
                            folders[name] = _identity(os.fstat(inner))
                    except OSError as error:
                        problems[name] = _wrong(place, _reason(error))
                elif names[name] and not name.startswith("."):
                    problems[ascii(name)[1:-1]] = _wrong(
                        place, "no grant names this folder; add one, or remove the folder"
                    )
    except OSError as error:
        problems[""] = _wrong(folder, _reason(error))
    return Look(files, problems, folders)


def read_team_file(path: Path, mark: Mark) -> str:
    """Return the text of a file whose mark this is. Raises ConfigError, also if it changes meanwhile."""
    try:
        with _opened(path.parent, None, _FOLDER) as folder, _opened(path.name, folder, _FILE) as handle:
            before = os.fstat(handle)
            raw = os.read(handle, MAX_BYTES + 1) if stat.S_ISREG(before.st_mode) else b""
            if not mark == _mark(folder, before) == _mark(folder, os.fstat(handle)) or len(raw) != before.st_size:
                raise _refusal(path, "the file changes while it is read; write another file and rename it to this one")
    except OSError as error:
        raise _refusal(path, _reason(error)) from None
    return decoded(path, raw)


def _look_at(folder: int, team: str) -> Iterator[tuple[str, Seen]]:
    """Yield the files of a team. Raises OSError if the folder cannot be read or has too many names."""
    total = 0
    for number, name in enumerate(sorted(filter(_NAME.fullmatch, _entries(folder))), 1):
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:  # it has just gone
            continue
        problem = _problem(status)
        if not problem:
            total += status.st_size
            if number > MAX_FILES:
                problem = f"the folder has more than {MAX_FILES} files; join some of them"
            elif total > MAX_BYTES:
                problem = f"the folder's files have more than {MAX_BYTES // 2**10} KiB in total; shorten them"
        yield name, Seen(team, _mark(folder, status), problem)


def _problem(status: os.stat_result) -> str:
    """Return why a file is not read; empty: it may be read."""
    if not stat.S_ISREG(status.st_mode):
        return "the file is not a regular one, or is a link; write the text into it"
    return (
        "every user may write the file; take that permission away (chmod o-w)" if status.st_mode & stat.S_IWOTH else ""
    )


@contextmanager
def _opened(path: Path | str, above: int | None, flags: int) -> Iterator[int]:
    """Open a path. Raises OSError, also for a folder that every user may write."""
    handle = os.open(path, flags, dir_fd=above)
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_IWOTH:
            raise OSError(errno.EPERM, "every user may write the folder; take that permission away (chmod o-w)")
        yield handle
    finally:
        os.close(handle)


def _entries(handle: int) -> Mapping[str, bool]:
    """Return the names in a folder, each with whether it is a folder. Raises OSError if there are too many."""
    found: dict[str, bool] = {}
    with os.scandir(handle) as entries:
        for entry in entries:
            found[entry.name] = entry.is_dir(follow_symlinks=False)
            if len(found) > _MAX_ENTRIES:
                raise OSError(errno.EFBIG, f"the folder has more than {_MAX_ENTRIES:,} names; remove some")
    return found


def _mark(folder: int, status: os.stat_result) -> Mark:
    times = status.st_mtime_ns, status.st_ctime_ns
    return (*_identity(os.fstat(folder)), *_identity(status), status.st_size, *times)


def _identity(status: os.stat_result) -> Mark:
    return status.st_dev, status.st_ino


def _reason(error: OSError) -> str:
    if error.errno in (errno.EPERM, errno.EFBIG) and "; " in str(error.strerror):
        return str(error.strerror)
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "it is a link, or not a folder; make it a folder"
    return f"cannot be read: {error.strerror or error}; check its permissions and the path"


def _wrong(path: Path, message: str) -> Problem:
    return Problem(str(path).encode(errors="backslashreplace").decode(), 1, 1, "", message)


def _refusal(path: Path, message: str) -> ConfigError:
    return ConfigError([_wrong(path, message)])
