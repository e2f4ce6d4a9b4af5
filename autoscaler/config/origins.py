"""Origins: places outside the main file that have autoscalers, such as a team's file, or the policy of a job.

Each origin gives a document, which is read by itself, under the grant that applies to it. A version that is wrong keeps
the last good one in force, as long as the daemon runs and the main file's grants allow that one. After a restart a
wrong version has none before it. Which origins there are is said by their sources: the folders of teams (`teams.py`)
and the back ends of connections (`runtime/policies.py`). An origin is let go only when its source has found that this
one is gone; of what a source does not tell, the last version stays.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from autoscaler.config.grants import Grant
from autoscaler.config.new_names import Admit, admit_all
from autoscaler.config.outside import MAX_VALUES, TOO_MANY, Effort, Granted, read_outside
from autoscaler.config.settings import Settings
from autoscaler.errors import ConfigError, Problem, bug
from autoscaler.model import Autoscaler, TargetRef
from autoscaler.target.scaled import Scaled

_MAX_PROBLEMS: Final = 100
"""Of one document."""
Key: TypeAlias = Path | TargetRef
"""Of an origin: a team's file, or the target of a policy."""


class Document(NamedTuple):
    """What an origin gives."""

    text: str
    """A YAML list of autoscalers; with `head`, a mapping."""
    target: TargetRef | None = None
    """That of its only autoscaler, with the parts of the name, which the text cannot have."""
    notes: tuple[str, ...] = ()
    """Where the autoscalers differ from what is written at the origin."""
    dry_run: bool = False
    """Whether all of them are dry runs, whatever the text says."""
    head: Mapping[str, Any] | None = None
    """The keys of its only autoscaler that the text may not have. The text has the others."""


class Version(Protocol):
    """A version of an origin's document. Two that are equal have the same reading."""

    @property
    def place(self) -> str:
        """Where it is from, for messages."""
        ...

    def grant(self, grants: Mapping[str, Grant]) -> str | None:
        """Return the name of the grant that applies; None: there is none."""
        ...

    def document(self, main: Settings, grant: str) -> Document:
        """Return the document. Raises ConfigError."""
        ...


_V = TypeVar("_V", bound=Version)


@dataclass(frozen=True, slots=True)
class Reading:
    """The autoscalers of a document, as they are under one main file."""

    grant: str
    """The grant's name."""
    granted: tuple[Granted, ...]
    notes: tuple[str, ...] = ()
    """As those of the document."""


@dataclass(frozen=True, slots=True)
class Origin(Generic[_V]):
    """An origin: its newest version, and the one in force."""

    newest: _V
    version: _V | None = None
    """The one in force: the newest one that is right; None: there is none."""
    reading: Reading | None = None
    """That of the version in force."""
    problems: tuple[Problem, ...] = ()
    """Why the newest version is not in force."""

    @property
    def granted(self) -> tuple[Granted, ...]:
        """The autoscalers of the version in force."""
        return () if self.reading is None else self.reading.granted


@dataclass(frozen=True, slots=True)
class Origins:
    """The table of all origins."""

    main: Settings
    """The main file's settings alone, under which they are read."""
    table: Mapping[Key, Origin[Any]] = field(default_factory=dict)
    problems: Mapping[str, Problem] = field(default_factory=dict)
    """What is wrong with the whole folder of a team, by its name. With the name "": with the folder of all."""
    unserved: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)
    """Place of an origin -> the autoscalers in it that are right, and not served: the path is the name."""

    def of(self, owns: Callable[[Key], bool]) -> "Origins":
        """Return the table of the origins of one source."""
        return replace(self, table={key: each for key, each in self.table.items() if owns(key)})

    def after(self, found: Mapping[Any, Version], gone: Collection[Key] = ()) -> "Origins":
        """Return the table with the versions that a source has found. Reads only those that have changed.

        `gone`: origins that no longer exist, as the source knows for certain. All other origins stay as they are.
        """
        newest = {key: each.newest for key, each in self.table.items() if key not in gone} | dict(found)
        return replace(self, table=_settled_all(self.main, self.main, self.table, newest))

    def under(self, main: Settings) -> "Origins":
        """Return the table under another main file. Reads the documents again that it may change."""
        newest = {key: each.newest for key, each in self.table.items()}
        return replace(self, main=main, table=_settled_all(main, self.main, self.table, newest))

    def joined(self, admit: Admit = admit_all) -> Settings:
        """Return the main file's settings with the autoscalers of all origins. `admit`: limits new names.

        A name and a target have one autoscaler. The main file has precedence, then the files of teams in their order,
        then policies.
        """
        files = {key: self.table[key] for key in sorted(key for key in self.table if isinstance(key, Path))}
        policies = {each.newest.place: each for key, each in self.table.items() if key not in files and each.reading}
        refused: defaultdict[str, tuple[Problem, ...]] = defaultdict(tuple)
        refused |= {name: (problem,) for name, problem in self.problems.items()}
        for each in files.values():
            if each.problems:
                refused[each.newest.team] += each.problems
        unserved: defaultdict[str, tuple[Problem, ...]] = defaultdict(tuple)
        join = _Join(self.main, admit)
        for each in (*files.values(), *(policies[place] for place in sorted(policies))):
            grant, place = "" if each.reading is None else each.reading.grant, each.newest.place
            for one in each.granted:
                if message := join.refusal(grant, place, one):
                    problem = Problem(place, one.line, one.column, one.scaler.name, message)
                    unserved[place] += (problem,)
                    if place not in policies:
                        refused[grant] += (problem,)
        capped = [
            Problem(each.newest.place, one.line, one.column, one.scaler.name, one.capped)
            for each in files.values()
            for one in each.granted
            if one.capped
        ]
        main: dict[str, Any] = {each.name: getattr(self.main, each.name) for each in fields(self.main)}
        return Joined(
            **main
            | {
                "autoscalers": (*self.main.autoscalers, *join.accepted),
                "owners": join.owners,
                "hints": (*self.main.hints, *capped),
                "refused": dict(refused),
                "digest": self._digest(files),
            },
            outside=replace(self, unserved=dict(unserved)),
        )

    def _digest(self, files: Mapping[Any, Origin[Any]]) -> str:
        """Return the hash of all files. Daemons that share a state compare it, and discover each for itself."""
        if self.main.autoscalers_dir is None:
            return self.main.digest
        digest = sha256(self.main.digest.encode())
        for path, each in files.items():
            in_force = "" if each.version is None else each.version.digest
            digest.update(f"{path} {in_force} ".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Joined(Settings):
    """The main file's settings with the autoscalers of all origins."""

    outside: Origins | None = None
    """The origins."""


def origins_of(settings: Settings) -> Origins:
    """Return the origins of the autoscalers outside the main file; of its settings alone: an empty table."""
    known = settings.outside if isinstance(settings, Joined) else None
    return Origins(settings) if known is None else known


class _Join:
    """Joins autoscalers of origins, one after the other, with those of the main file."""

    def __init__(self, main: Settings, admit: Admit) -> None:
        self.accepted: list[Autoscaler] = []
        self.owners: dict[str, str] = {}
        """Name of an accepted autoscaler -> name of its grant."""
        self._grants, self._admit, self._scaled = main.grants, admit, main.identify()
        self._names = {scaler.name: str(main.path) for scaler in main.autoscalers}
        self._targets: dict[Scaled, str] = {self._scaled(each.target): each.name for each in main.autoscalers}
        self._queries: defaultdict[str, set[tuple[str, str, bool]]] = defaultdict(set)
        self._values = Counter[str]()

    def refusal(self, name: str, place: str, one: Granted) -> str:
        """Return why an autoscaler of the grant `name` is not served; empty: it was accepted. `place`: its origin's."""
        scaler, grant, used = one.scaler, self._grants[name], self._queries[name]
        what = self._scaled(scaler.target)
        if scaler.name in self._names:
            return f"{scaler.name} is already the name of an autoscaler in {self._names[scaler.name]}; rename one"
        if what in self._targets:
            return f"{one.target} is already scaled by {self._targets[what]}; remove one of the two"
        if not one.queries <= used and len(used | one.queries) > grant.max_queries:
            return f"its queries go beyond the grant's maxQueries {grant.max_queries}; remove or share some"
        if self._values[name] + one.values > MAX_VALUES:
            return TOO_MANY
        if not self._admit(name, grant.new_names, scaler.name):
            return (
                f"the grant has brought {grant.new_names} new names within an hour, and may bring no more (its "
                "maxQueries, at least 100); this one is served when an hour has passed for another; keep names"
            )
        self._names[scaler.name], self._targets[what], self.owners[scaler.name] = place, scaler.name, name
        used |= one.queries
        self._values[name] += one.values
        self.accepted.append(scaler)
        return ""


def _settled_all(
    main: Settings, before: Settings, origins: Mapping[Key, Origin[Any]], newest: Mapping[Key, Version]
) -> Mapping[Key, Origin[Any]]:
    """Return the origins with these newest versions. `before`: the main file under which `origins` were read."""
    efforts: defaultdict[object, Effort] = defaultdict(Effort)
    return {key: _settled(main, before, origins.get(key), each, efforts) for key, each in newest.items()}


def _settled(
    main: Settings, before: Settings, known: Origin[_V] | None, newest: _V, efforts: defaultdict[object, Effort]
) -> Origin[_V]:
    name, is_same = newest.grant(main.grants), known is not None and _is_same(before, main, newest)
    if known is not None and is_same and newest is known.newest:
        return known
    version, reading = (None, None) if known is None else (known.version, known.reading)
    if version is not None and not is_same:
        kept = _tried(version, main, efforts["in force", name])
        version, reading = (version, kept) if isinstance(kept, Reading) else (None, None)
    if newest == version:
        return Origin(newest, newest, reading)
    if known is not None and is_same and newest == known.newest:
        return replace(known, newest=newest)
    found = _tried(newest, main, efforts["newest", name])
    return Origin(newest, newest, found) if isinstance(found, Reading) else Origin(newest, version, reading, found)


def _tried(version: Version, main: Settings, effort: Effort) -> Reading | tuple[Problem, ...]:
    """Return what is in a version's document, or what is wrong with it."""
    try:
        return read_version(version, main, effort)
    except ConfigError as error:
        return tuple(error.problems[:_MAX_PROBLEMS])
    except Exception as error:  # noqa: BLE001 - a document is foreign, and costs no other one
        return (Problem(version.place, 1, 1, "", bug(error)),)


def read_version(version: Version, main: Settings, effort: Effort | None = None) -> Reading:
    """Return what is in a version's document. Raises ConfigError. `effort`: what several may take together."""
    name = version.grant(main.grants)
    if name is None:
        raise ConfigError([Problem(version.place, 1, 1, "", "no grant includes it; add it to one, or remove it")])
    document = version.document(main, name)
    granted = read_outside(document.text, version.place, main.grants[name], main, effort, document.head)
    return Reading(name, tuple([_completed(each, document) for each in granted]), document.notes)


def _completed(granted: Granted, document: Document) -> Granted:
    """Return the autoscaler with what its text does not have."""
    scaler = granted.scaler
    parts = scaler.target.parts if document.target is None else document.target.parts
    target, dry_run = replace(scaler.target, parts=parts), scaler.dry_run or document.dry_run
    return replace(granted, scaler=replace(scaler, target=target, dry_run=dry_run))


def _is_same(before: Settings, after: Settings, version: Version) -> bool:
    """Return whether a version has the same reading under both main files."""
    if before is after:
        return True
    old, new = version.grant(before.grants), version.grant(after.grants)
    return (
        old == new
        and before.grants.get(old or "") == after.grants.get(new or "")
        and before.shared == after.shared
        and before.adapters == after.adapters
        and before.prometheus.keys() == after.prometheus.keys()
    )
