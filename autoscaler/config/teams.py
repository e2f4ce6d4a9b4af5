"""The files in the folders of teams: which version of each is in force.

A file that is wrong keeps its last good version in force, as long as the daemon runs and the main file's grants allow
that version. After a restart a wrong file has none. A folder that cannot be read keeps the versions of its files.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from autoscaler.config.join import OutsideSet, join, merged
from autoscaler.config.new_names import Admit, admit_all
from autoscaler.config.outside import Effort, Granted, read_outside
from autoscaler.config.settings import Settings
from autoscaler.config.team_files import Look, Mark, Seen, look, read_team_file
from autoscaler.errors import ConfigError, Problem

_NOTHING: Mark = ()
_MOST_PROBLEMS: Final = 100
"""Of one file."""


class Text(NamedTuple):
    """The text of a team's file."""

    team: str
    file: str
    text: str


Parsed: TypeAlias = tuple[Granted, ...] | list[Problem]
"""The autoscalers in a text; a list: what is wrong with it."""
Parse: TypeAlias = Callable[[Settings, Sequence[Text]], Sequence[Parsed]]


@dataclass(frozen=True, slots=True)
class TeamFile:
    """A file in a team's folder."""

    team: str
    mark: Mark
    """Of the newest version that was read or refused."""
    text: str | None = None
    """The version in force; None: there is none."""
    digest: str = ""
    """The hash of that text."""
    granted: tuple[Granted, ...] = ()
    """The autoscalers of the version in force."""
    problems: tuple[Problem, ...] = ()
    """Why the newest version is not in force."""


@dataclass(frozen=True, slots=True)
class Teams:
    """The files of all teams."""

    main: Settings
    """The main file alone."""
    files: Mapping[Path, TeamFile] = field(default_factory=dict)
    problems: Mapping[str, Problem] = field(default_factory=dict)
    """As those of `Look`."""


def parse(settings: Settings, texts: Sequence[Text]) -> list[Parsed]:
    """Return what is in each text. `settings`: the main file's."""
    found: list[Parsed] = []
    efforts: dict[str, Effort] = {}
    for each in texts:
        grant, effort = settings.grants[each.team], efforts.setdefault(each.team, Effort())
        try:
            found.append(read_outside(each.text, each.file, grant, settings, effort))
        except ConfigError as error:
            found.append(list(error.problems[:_MOST_PROBLEMS]))
    return found


def with_teams(main: Settings, before: Teams | None = None, parse: Parse = parse) -> Settings:
    """Return the main file's settings with the autoscalers of all teams. `before`: the files in force."""
    if main.autoscalers_dir is None:
        return main
    return follow(main, before or Teams(main), look(main.autoscalers_dir, main.grants), parse=parse)


def changed_files(teams: Teams, seen: Look) -> Mapping[Path, Mark]:
    """Return the files that differ from those in `teams`, each with its mark; the empty mark: it is gone."""
    new = {path: each.mark for path, each in seen.files.items() if _mark_of(teams, path) != each.mark}
    gone = [path for path, each in teams.files.items() if path not in seen.files and not seen.is_unread(each.team)]
    return new | dict.fromkeys(gone, _NOTHING)


def problems_of(teams: Teams, seen: Look) -> Mapping[str, Problem]:
    """Return what is wrong with whole folders. One that never was is no problem."""
    gone = {each.team: path.parent for path, each in teams.files.items() if each.team in seen.absent}
    message = "the folder is gone; its files' last versions stay in force until it is back, or the grant is removed"
    return {team: Problem(str(folder), 1, 1, "", message) for team, folder in gone.items()} | dict(seen.problems)


def follow(
    main: Settings,
    before: Teams,
    seen: Look,
    only: Collection[Path] | None = None,
    parse: Parse = parse,
    admit: Admit = admit_all,
) -> Settings:
    """Return the settings with what was seen. `only`: the changed files to read; the others wait."""
    files: dict[Path, TeamFile] = {}
    texts: dict[Path, Text] = {}
    for path, each in _expected(before, seen, only, main.grants):
        known, waits = before.files.get(path), only is not None and path not in only
        unchanged = each is None or (known is not None and known.mark == each.mark)
        if known is not None and known.problems and not _is_same(before.main, main, known.team):
            unchanged = False  # the main file may allow now what it refused
        if known is not None and (unchanged or waits):
            files[path] = known
        elif each is not None and not waits:
            files[path], text = _looked_at(path, each, known)
            if text is not None and text != files[path].text:
                texts[path] = Text(each.team, str(path), text)
    stale = {
        path: Text(each.team, str(path), each.text)
        for path, each in files.items()
        if each.text is not None and not _is_same(before.main, main, each.team)
    }
    for path, result in _parsed(parse, main, stale):
        if isinstance(result, list):  # the main file no longer allows it
            files[path] = TeamFile(files[path].team, _NOTHING, problems=tuple(result))
        else:
            files[path] = replace(files[path], granted=result)
    for path, result in _parsed(parse, main, texts):
        if isinstance(result, list):
            files[path] = replace(files[path], problems=tuple(result))
        else:
            text = texts[path].text
            digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            files[path] = TeamFile(files[path].team, files[path].mark, text, digest, result)
    return _joined(main, Teams(main, files, problems_of(Teams(main, files), seen)), admit)


def _expected(
    before: Teams, seen: Look, only: Collection[Path] | None, teams: Collection[str]
) -> Iterator[tuple[Path, Seen | None]]:
    """Yield the files of these teams, sorted. None: its folder is unread, or the file may only be gone for a moment."""
    kept = [
        path
        for path, each in before.files.items()
        if each.team in teams and (seen.is_unread(each.team) or (only is not None and path not in only))
    ]
    for path in sorted({*seen.files, *kept}):
        yield path, seen.files.get(path)


def _looked_at(path: Path, seen: Seen, known: TeamFile | None) -> tuple[TeamFile, str | None]:
    """Return the file with its new mark, and its text if it can be read."""
    file = replace(known or TeamFile(seen.team, seen.mark), mark=seen.mark, problems=())
    if seen.problem:
        return replace(file, problems=(Problem(str(path), 1, 1, "", seen.problem),)), None
    try:
        return file, read_team_file(path, seen.mark)
    except ConfigError as error:
        return replace(file, problems=error.problems), None


def _parsed(parse: Parse, main: Settings, texts: Mapping[Path, Text]) -> Iterator[tuple[Path, Parsed]]:
    return zip(texts, parse(main, list(texts.values())), strict=True) if texts else iter(())


def _mark_of(teams: Teams, path: Path) -> Mark:
    known = teams.files.get(path)
    return _NOTHING if known is None else known.mark


def _is_same(before: Settings, after: Settings, team: str) -> bool:
    """Return whether a team's file means the same under both main files."""
    return before is after or (
        before.shared == after.shared
        and before.adapters == after.adapters
        and before.prometheus.keys() == after.prometheus.keys()
        and before.grants.get(team) == after.grants.get(team)
    )


def _joined(main: Settings, teams: Teams, admit: Admit) -> Settings:
    sets = [OutsideSet(each.team, str(path), each.granted) for path, each in teams.files.items()]
    joined = join(main, sets, admit)
    of_files: dict[str, tuple[Problem, ...]] = {}
    for each in teams.files.values():
        of_files[each.team] = (*of_files.get(each.team, ()), *each.problems)
    of_folders = {name: (problem,) for name, problem in teams.problems.items()}
    digest = sha256(main.digest.encode())
    for path, each in teams.files.items():
        digest.update(f"{path} {each.digest} ".encode("utf-8", "surrogatepass"))
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
