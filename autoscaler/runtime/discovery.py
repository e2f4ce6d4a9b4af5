"""Discovers the scaling policies that back ends have, and converts them to autoscalers."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple

from autoscaler.clock import Clock
from autoscaler.config.join import OutsideSet, join
from autoscaler.config.new_names import FIRST_SECONDS, Admit, NewNames
from autoscaler.config.origins import Origin
from autoscaler.config.settings import AdapterSection, Settings
from autoscaler.convert.discovered import TargetPolicy, granted_namespaces
from autoscaler.documents.discovered import DiscoveredList, DiscoveredPolicy, DiscoveringConnection
from autoscaler.errors import AutoscalerError, Problem, TargetError, TargetUnavailable, bug
from autoscaler.logger import Logger
from autoscaler.model import Call, TargetRef
from autoscaler.runtime.building import Builder
from autoscaler.runtime.known_policies import KnownPolicies
from autoscaler.target import Adapter, Discovers, Discovery
from autoscaler.target.answers import WrongAnswer, checked_discovery, checked_error
from autoscaler.text import plain
from autoscaler.threads import NoThread, spawn

PERIOD_SECONDS: Final = 30.0
"""From the end of a look at a back end's policies to the next one."""
DEADLINE_SECONDS: Final = 30.0
"""For one look. What was not read by then is read by the next one, which begins at once."""
_HANGS_AFTER_SECONDS: Final = 2 * DEADLINE_SECONDS
_RETRY_SECONDS: Final = 15.0
_MOST_SHOWN: Final = 20
"""Failures of a connection that are listed."""


@dataclass(slots=True, eq=False)
class _Connection:
    section: AdapterSection
    known: KnownPolicies
    followed: Mapping[TargetRef, Origin[TargetPolicy]]
    """The policies as the daemon follows them."""
    since: float
    """When the daemon began to discover there, on the monotonic clock."""
    adapter: Adapter | None = None
    looking: Future[KnownPolicies] | None = None
    begun: float = 0.0
    """When the look that is under way began, on the monotonic clock."""
    due: float = 0.0

    def is_of(self, section: AdapterSection) -> bool:
        """Return whether this is the same back end, so that what is known of it stays."""
        return (self.section.type, self.section.settings) == (section.type, section.settings)


class Prepared(NamedTuple):
    """What the daemon is to follow."""

    known: Mapping[str, KnownPolicies]
    """By connection."""
    settings: Settings
    """Those of the files, with the autoscalers that were found."""
    refused: Mapping[str, str]
    """Place of a policy -> why its autoscaler is not among them, although it is right."""


class Discoveries:
    """The policies of all connections with `discover`. Used by the main thread.

    Each look at a back end has an adapter that does nothing else, and a thread of its own: it delays no cycle.
    """

    def __init__(self, builder: Builder, clock: Clock, logger: Logger) -> None:
        self._builder = builder
        self._clock = clock
        self._logger = logger
        self._connections: dict[str, _Connection] = {}
        self._refused: Mapping[str, str] = {}
        self._put_off = 0.0
        self._new_names = NewNames()
        self._owners: Mapping[str, str] = {}
        """The autoscalers under grants that are followed."""

    def prepare(self, files: Settings) -> Prepared:
        """Return the settings of the files with the autoscalers that were found. The files' have precedence.

        Under a changed main file, every policy is read again, which takes a millisecond for each.
        """
        main = files if files.teams is None else files.teams.main
        known: dict[str, KnownPolicies] = {}
        for name, section in files.adapters.items():
            if section.discover is not None:
                one = self._connections.get(name)
                is_known = one is not None and one.is_of(section)
                known[name] = (one.known if one is not None and is_known else KnownPolicies(main)).under(main)
        sets = {one.file: one for each in known.values() for one in _sets(each)}
        joined = join(files, [sets[name] for name in sorted(sets)], self._admit(known))
        problems = [problem for each in joined.refused.values() for problem in each if problem.file in sets]
        refused = {problem.file: problem.message for problem in problems}
        return Prepared(known, replace(joined, refused=files.refused), refused)

    def _admit(self, known: Mapping[str, KnownPolicies]) -> Admit:
        """Return what limits new names: not in a connection's first hour, in which all of its policies are found."""
        now, names = self._clock.monotonic(), {*self._owners}
        for name, each in known.items():
            one = self._connections.get(name)
            if one is None or now - one.since < FIRST_SECONDS:
                names.update(granted.scaler.name for some in _sets(each) for granted in some.granted)
        return self._new_names.admitting(names, now)

    def follow(self, prepared: Prepared) -> None:
        """Discover on the connections of a configuration, with what was prepared for it."""
        now: dict[str, _Connection] = {}
        for name, known in prepared.known.items():
            one, section = self._connections.get(name), prepared.settings.adapters[name]
            if one is None or not one.is_of(section):
                now[name] = _Connection(section, known, known.origins, self._clock.monotonic())
            else:
                if known.main is not one.known.main:
                    one.due = 0.0
                one.known, one.followed = known, known.origins
                now[name] = one
        gone = set(self._connections.values()) - set(now.values())
        self._connections, self._refused = now, prepared.refused
        self._owners = prepared.settings.owners
        self._builder.close(one.adapter for one in gone if one.adapter is not None)

    def document(self) -> DiscoveredList:
        """Return what was found, and what became of each policy. From any thread."""
        policies: list[DiscoveredPolicy] = []
        connections: list[DiscoveringConnection] = []
        for name, one in sorted(self._connections.items()):
            known = one.known
            mine = [_document(each, self._refused) for each in known.origins.values()]
            failures = [f"{where}: {error}" for where, error in known.failures.items()]
            if one.looking is not None and self._clock.monotonic() - one.begun > _HANGS_AFTER_SECONDS:
                failures.insert(0, f"its adapter has not answered for {self._clock.monotonic() - one.begun:.0f} s")
            connections.append(
                DiscoveringConnection(
                    name=name,
                    at=known.at,
                    found=len(mine),
                    refused=sum(each.refused is not None for each in mine),
                    failing=len(failures),
                    failures=tuple([plain(each) for each in failures[:_MOST_SHOWN]]),
                )
            )
            policies += mine
        return DiscoveredList(
            connections=tuple(connections), policies=tuple(sorted(policies, key=lambda each: each.target))
        )

    def turn(self) -> bool:
        """Begin the looks that are due, and take up those that have ended. Called about every second.

        Returns whether other autoscalers are found than those that are followed.
        """
        now = self._clock.monotonic()
        for name, one in self._connections.items():
            self._take_up(name, one)
            if one.looking is None and now >= one.due:
                one.due = now + PERIOD_SECONDS
                with suppress(NoThread):  # it is tried again
                    one.looking, one.begun = spawn(f"discover-{name}", partial(self._look, name, one, one.known)), now
        other = any(one.known.origins != one.followed for one in self._connections.values())
        return now >= self._put_off and (other or bool(self._new_names.due(now)))

    def put_off(self) -> None:
        """Let `turn` return False for a while: what was found could not be followed."""
        self._put_off = self._clock.monotonic() + _RETRY_SECONDS

    def _take_up(self, name: str, one: _Connection) -> None:
        if one.looking is None or not one.looking.done():
            return
        found, before, one.looking = one.looking.result(), one.known, None
        if found.main is not before.main:  # the configuration was reloaded meanwhile
            one.due = 0.0
            return
        is_part = bool(found.failures) and found.origins.keys() > before.origins.keys()
        one.due = self._clock.monotonic() + (0.0 if is_part else PERIOD_SECONDS)
        one.known = found
        if found.failures != before.failures:
            self._log_failures(name, found)
        if found.origins != before.origins:
            refused = sum(not each.granted or bool(each.problems) for each in found.origins.values())
            self._logger.info("policies_discovered", connection=name, policies=len(found.origins), refused=refused)

    def _log_failures(self, name: str, known: KnownPolicies) -> None:
        first = next(iter(known.failures.items()), None)
        if first is not None:
            where, error = first
            self._logger.warning(
                "discovery_failed", connection=name, where=where, error=error, failures=len(known.failures)
            )

    def _look(self, name: str, one: _Connection, known: KnownPolicies) -> KnownPolicies:
        """Return what is found now. On a thread of its own."""
        namespaces = granted_namespaces(name, known.main.grants)
        now = self._clock.now()
        call = Call(now, self._clock.monotonic() + DEADLINE_SECONDS)
        answer: Discovery | TargetError
        try:
            adapter = self._adapter(name, one)
            answer = checked_discovery(adapter.discover(namespaces, [*known.origins], call), name, namespaces)
        except TargetError as error:
            answer = checked_error(error)
        except (AutoscalerError, WrongAnswer) as error:
            answer = TargetUnavailable(str(error))
        except Exception as error:  # noqa: BLE001 - foreign code: what it raises is named
            answer = TargetUnavailable(bug(error))
        return known.after(answer, namespaces, now)

    def _adapter(self, name: str, one: _Connection) -> Discovers:
        if one.adapter is None:
            one.adapter = self._builder.build_reader(name, one.section)
        if not isinstance(one.adapter, Discovers):
            raise AssertionError("`check` refuses `discover` for other adapters")
        return one.adapter


def _sets(known: KnownPolicies) -> Sequence[OutsideSet]:
    """Return the autoscalers, those of each policy as a set of its own."""
    return [
        OutsideSet(each.reading.grant, each.newest.place, each.granted)
        for each in known.origins.values()
        if each.reading is not None
    ]


def _document(origin: Origin[TargetPolicy], refused: Mapping[str, str]) -> DiscoveredPolicy:
    place, notes = origin.newest.place, () if origin.reading is None else origin.reading.notes
    why = refused.get(place) or "; ".join(map(_sentence, origin.problems)) or None
    if place in refused or not origin.granted:
        why = why or "; ".join(notes)
        return DiscoveredPolicy(target=place, autoscaler=None, dry_run=False, refused=plain(why), differences=())
    (one,) = origin.granted
    return DiscoveredPolicy(
        target=place,
        autoscaler=one.scaler.name,
        dry_run=one.scaler.dry_run,
        refused=None if why is None else plain(why),
        differences=tuple(map(plain, [*notes, *filter(None, [one.capped])])),
    )


def _sentence(problem: Problem) -> str:
    path = problem.path.removeprefix("autoscalers[0].")
    return f"{path}: {problem.message}" if path else problem.message
