"""Origins: places outside the main file that have autoscalers, such as a team's file, or the policy of a job.

Each origin gives a document, which is read by itself, under the grant that applies to it. A version that is wrong keeps
the last good one in force, as long as the daemon runs and the main file's grants allow that one. After a restart a
wrong version has none before it. Which origins there are is said by their sources (`teams.py`, `known_policies.py`),
each of which lets an origin go only when it is sure that this one is gone.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from autoscaler.config.grants import Grant
from autoscaler.config.outside import Effort, Granted, read_outside
from autoscaler.config.settings import Settings
from autoscaler.errors import ConfigError, Problem, bug
from autoscaler.model import TargetRef

_MOST_PROBLEMS: Final = 100
"""Of one document."""
_K = TypeVar("_K")


class Document(NamedTuple):
    """What an origin gives."""

    text: str
    """A YAML list of autoscalers."""
    target: TargetRef | None = None
    """That of its only autoscaler, with the parts of the name, which the text cannot have."""
    notes: tuple[str, ...] = ()
    """Where the autoscalers differ from what is written at the origin."""


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
    """What is in a document, under one main file."""

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


def settled(
    main: Settings, before: Settings, origins: Mapping[_K, Origin[_V]], newest: Mapping[_K, _V]
) -> dict[_K, Origin[_V]]:
    """Return the origins with these versions. Only what has changed is read.

    `main`: the main file's settings. `before`: those under which `origins` were read. `newest`: of each origin that
    there is.
    """
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
        return tuple(error.problems[:_MOST_PROBLEMS])
    except Exception as error:  # noqa: BLE001 - a document is foreign, and costs no other one
        return (Problem(version.place, 1, 1, "", bug(error)),)


def read_version(version: Version, main: Settings, effort: Effort | None = None) -> Reading:
    """Return what is in a version's document. Raises ConfigError. `effort`: what several may take together."""
    name = version.grant(main.grants)
    if name is None:
        raise ConfigError([Problem(version.place, 1, 1, "", "no grant includes it; add it to one, or remove it")])
    document = version.document(main, name)
    granted = read_outside(document.text, version.place, main.grants[name], main, effort)
    if document.target is not None:
        granted = tuple([_with_parts(each, document.target.parts) for each in granted])
    return Reading(name, granted, document.notes)


def _with_parts(granted: Granted, parts: Sequence[str]) -> Granted:
    target = replace(granted.scaler.target, parts=tuple(parts))
    return replace(granted, scaler=replace(granted.scaler, target=target))


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
