"""The files in the folders of teams, each an origin of autoscalers.

A file that is wrong keeps its last good version in force, as `origins.py` says. A folder that cannot be read keeps the
versions of its files.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from autoscaler.config.grants import Grant
from autoscaler.config.join import OutsideSet, join, merged
from autoscaler.config.new_names import Admit, admit_all
from autoscaler.config.origins import Document, Origin, settled
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
        """The file."""
        return str(self.path)

    def grant(self, grants: Mapping[str, Grant]) -> str | None:
        """Return the grant of the team."""
        return self.team if self.team in grants else None

    def document(self, main: Settings, grant: str) -> Document:  # noqa: ARG002 - as `Version`
        """Return the text. Raises ConfigError."""
        if self.problems:
            raise ConfigError(self.problems)
        return Document(self.text)


@dataclass(frozen=True, slots=True)
class Teams:
    """The files of all teams."""

    main: Settings
    """The main file alone."""
    files: Mapping[Path, Origin[TeamFile]] = field(default_factory=dict)
    problems: Mapping[str, Problem] = field(default_factory=dict)
    """As those of `Look`."""


def with_teams(main: Settings, before: Teams | None = None) -> Settings:
    """Return the main file's settings with the autoscalers of all teams. `before`: the files in force."""
    if main.autoscalers_dir is None:
        return main
    return follow(main, before or Teams(main), look(main.autoscalers_dir, main.grants))


def changed_files(teams: Teams, seen: Look) -> Mapping[Path, Mark]:
    """Return the files that differ from those in `teams`, each with its mark; the empty mark: it is gone."""
    new = {path: each.mark for path, each in seen.files.items() if _mark_of(teams, path) != each.mark}
    gone = [
        path for path, each in teams.files.items() if path not in seen.files and not seen.is_unread(each.newest.team)
    ]
    return new | dict.fromkeys(gone, _NOTHING)


def problems_of(teams: Teams, seen: Look) -> Mapping[str, Problem]:
    """Return what is wrong with whole folders. One that never was is no problem."""
    known = {each.newest.team: path.parent for path, each in teams.files.items()}
    message = "the folder is gone; its files' last versions stay in force until it is back, or the grant is removed"
    gone = {team: Problem(str(known[team]), 1, 1, "", message) for team in known if team in seen.absent}
    return gone | dict(seen.problems)


def follow(
    main: Settings, before: Teams, seen: Look, only: Collection[Path] | None = None, admit: Admit = admit_all
) -> Settings:
    """Return the settings with what was seen. `only`: the changed files to read; the others wait."""
    newest = dict(_newest(before, seen, only, main.grants))
    teams = Teams(main, settled(main, before.main, before.files, newest))
    return _joined(main, replace(teams, problems=problems_of(teams, seen)), admit)


def _newest(
    before: Teams, seen: Look, only: Collection[Path] | None, teams: Collection[str]
) -> Iterator[tuple[Path, TeamFile]]:
    """Yield the newest version of each file of these teams, sorted.

    A file stays as it is known while its folder is unread, or it is not among `only`: it may only be gone for a moment.
    """
    kept = [
        path
        for path, each in before.files.items()
        if each.newest.team in teams and (seen.is_unread(each.newest.team) or (only is not None and path not in only))
    ]
    for path in sorted({*seen.files, *kept}):
        each, known = seen.files.get(path), before.files.get(path)
        waits = only is not None and path not in only
        if known is not None and (each is None or waits or each.mark == known.newest.mark):
            yield path, known.newest
        elif each is not None and not waits:
            yield path, _read(path, each)


def _read(path: Path, seen: Seen) -> TeamFile:
    if seen.problem:
        return TeamFile(seen.team, path, seen.mark, problems=(Problem(str(path), 1, 1, "", seen.problem),))
    try:
        text = read_team_file(path, seen.mark)
    except ConfigError as error:
        return TeamFile(seen.team, path, seen.mark, problems=tuple(error.problems))
    return TeamFile(seen.team, path, seen.mark, text, sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


def _mark_of(teams: Teams, path: Path) -> Mark:
    known = teams.files.get(path)
    return _NOTHING if known is None else known.newest.mark


def _joined(main: Settings, teams: Teams, admit: Admit) -> Settings:
    sets = [OutsideSet(each.newest.team, str(path), each.granted) for path, each in teams.files.items()]
    joined = join(main, sets, admit)
    of_files: dict[str, tuple[Problem, ...]] = {}
    for each in teams.files.values():
        of_files[each.newest.team] = (*of_files.get(each.newest.team, ()), *each.problems)
    of_folders = {name: (problem,) for name, problem in teams.problems.items()}
    digest = sha256(main.digest.encode())
    for path, each in teams.files.items():
        in_force = "" if each.version is None else each.version.digest
        digest.update(f"{path} {in_force} ".encode("utf-8", "surrogatepass"))
    refused = merged(of_folders, of_files, joined.refused)
    capped = [
        Problem(each.file, one.line, one.column, one.scaler.name, one.capped)
        for each in sets
        for one in each.granted
        if one.capped
    ]
    return replace(
        joined,
        hints=(*main.hints, *capped),
        refused={name: some for name, some in refused.items() if some},
        teams=teams,
        digest=digest.hexdigest()[:16],
    )
