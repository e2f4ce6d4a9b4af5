"""The files in the folders of teams, each an origin of autoscalers.

A file that is wrong keeps its last good version in force, as `origins.py` says. A folder that cannot be read, or
that is empty and another one than before, keeps the versions of its files: a disk may not be mounted.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from autoscaler.config.grants import Grant
from autoscaler.config.origins import Document, Key, Origins
from autoscaler.config.settings import Settings
from autoscaler.config.team_files import Look, Mark, Seen, look, read_team_file
from autoscaler.errors import ConfigError, Problem

_NOTHING: Final[Mark] = ()


@dataclass(frozen=True, slots=True)
class TeamFile:
    """A version of a file in a team's folder."""

    team: str
    path: Path
    mark: Mark = field(compare=False)
    text: str = ""
    digest: str = field(default="", compare=False)
    """The hash of the text."""
    problems: tuple[Problem, ...] = ()
    """Why it could not be read."""

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self.path)

    def grant(self, grants: Mapping[str, Grant]) -> str | None:
        """Return the grant of the team."""
        return self.team if self.team in grants else None

    def document(self, main: Settings, grant: str) -> Document:  # noqa: ARG002 - as `Version`
        """Return the text. Raises ConfigError."""
        if self.problems:
            raise ConfigError(self.problems)
        return Document(self.text)


def with_teams(main: Settings, before: Origins | None = None) -> Settings:
    """Return the main file's settings with the autoscalers of all teams. `before`: the origins in force."""
    if main.autoscalers_dir is None:
        return main
    known = (before or Origins(main)).of(is_file)
    of_teams = known.of(lambda key: known.table[key].newest.team in main.grants).under(main)
    return follow(of_teams, look(main.autoscalers_dir, main.grants)).joined()


def is_file(key: Key) -> bool:
    """Return whether an origin is a team's file."""
    return isinstance(key, Path)


def changed_files(files: Origins, seen: Look) -> Mapping[Path, Mark]:
    """Return each file that differs from its version in `files`, with its new mark; an empty mark: it was removed.

    No file counts as removed while its folder cannot be read, or is empty and not the folder that had the file.
    """
    known = _newest(files)
    new = {path: each.mark for path, each in seen.files.items() if path not in known or known[path].mark != each.mark}
    sure = seen.folders.keys() - _replaced(files, seen)
    gone = [path for path, each in known.items() if path not in seen.files and each.team in sure]
    return new | dict.fromkeys(gone, _NOTHING)


def problems_of(files: Origins, seen: Look) -> Mapping[str, Problem]:
    """Return team -> what is wrong with its whole folder; "": with the folder above.

    A folder that never existed is no problem.
    """
    known = {each.team: path.parent for path, each in _newest(files).items()}
    message = "the folder is gone; its files' last versions stay in force until it is back, or the grant is removed"
    absent = [] if "" in seen.problems else [team for team in known if team not in seen.folders]
    gone = {team: Problem(str(known[team]), 1, 1, "", message) for team in absent}
    message = (
        "the folder is empty, and another one than that of its files, whose last versions stay in force; "
        "mount its disk, or put a file with [] into it, which lets them go"
    )
    moved = {team: Problem(str(known[team]), 1, 1, "", message) for team in _replaced(files, seen)}
    return gone | moved | dict(seen.problems)


def _replaced(files: Origins, seen: Look) -> Collection[str]:
    """Return the teams whose folder is empty, and none of those that their known files are from."""
    empty = seen.folders.keys() - {each.team for each in seen.files.values()}
    known = {(each.team, each.mark[:2]) for each in _newest(files).values()}
    return {team for team, _ in known if team in empty and (team, seen.folders[team]) not in known}


def follow(files: Origins, seen: Look, only: Collection[Path] | None = None) -> Origins:
    """Return the origins with the files that have changed, read anew.

    `only`: those of the changed files to read now; the others keep their earlier versions.
    """
    changed = {path: mark for path, mark in changed_files(files, seen).items() if only is None or path in only}
    found = {path: _read(path, seen.files[path]) for path, mark in changed.items() if mark != _NOTHING}
    gone = changed.keys() - found.keys()
    after = files.after(found, gone)
    return replace(after, problems=problems_of(after, seen))


def _newest(files: Origins) -> Mapping[Path, TeamFile]:
    return {path: each.newest for path, each in files.table.items() if isinstance(path, Path)}


def _read(path: Path, seen: Seen) -> TeamFile:
    if seen.problem:
        return TeamFile(seen.team, path, seen.mark, problems=(Problem(str(path), 1, 1, "", seen.problem),))
    try:
        text = read_team_file(path, seen.mark)
    except ConfigError as error:
        return TeamFile(seen.team, path, seen.mark, problems=tuple(error.problems))
    return TeamFile(seen.team, path, seen.mark, text, sha256(text.encode("utf-8", "surrogatepass")).hexdigest())
