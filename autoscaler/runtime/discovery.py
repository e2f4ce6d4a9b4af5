"""Discovers the scaling policies that back ends have, and converts them to autoscalers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NamedTuple

from autoscaler.clock import Clock
from autoscaler.config.join import OutsideSet, join
from autoscaler.config.new_names import FIRST_SECONDS, Admit, NewNames
from autoscaler.config.settings import AdapterSection, Settings
from autoscaler.convert.discovered import Ambiguous, Converted, NotConverted, convert_policy, granted_namespaces
from autoscaler.documents.discovered import DiscoveredList, DiscoveredPolicy, DiscoveringConnection
from autoscaler.errors import AutoscalerError, TargetError, TargetUnavailable, bug
from autoscaler.logger import Logger
from autoscaler.model import Call, TargetRef
from autoscaler.runtime.building import Builder
from autoscaler.runtime.known_policies import KnownPolicies, Policy
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


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of a connection's policies, and what they become under one configuration."""

    settings: Settings
    known: KnownPolicies = field(default_factory=KnownPolicies)
    results: Mapping[TargetRef, tuple[Policy, Converted | NotConverted]] = field(default_factory=dict)
    """Target -> its policy, and its autoscaler or why there is none."""

    def under(self, settings: Settings, known: KnownPolicies) -> "Found":
        """Return what these policies become. What was converted for the same settings is not converted again."""
        before = self.results if settings is self.settings else {}
        results: dict[TargetRef, tuple[Policy, Converted | NotConverted]] = {}
        often = Counter(map(_name, known.policies))
        for target, policy in known.policies.items():
            last, is_ambiguous = before.get(target), often[_name(target)] > 1
            if last is None or last[0] is not policy or isinstance(last[1], Ambiguous) is not is_ambiguous:
                last = policy, Ambiguous(target) if is_ambiguous else _converted(target, policy, settings)
            results[target] = last
        return Found(settings, known, results)

    def sets(self) -> Sequence[OutsideSet]:
        """Return the autoscalers, each as a set of its own."""
        return [
            OutsideSet(result.grant, _name(target), (result.granted,))
            for target, (_, result) in self.results.items()
            if isinstance(result, Converted)
        ]


@dataclass(slots=True, eq=False)
class _Connection:
    section: AdapterSection
    found: Found
    followed: Mapping[TargetRef, tuple[Policy, Converted | NotConverted]]
    """The results that the daemon follows."""
    since: float
    """When the daemon began to discover there, on the monotonic clock."""
    adapter: Adapter | None = None
    looking: Future[Found] | None = None
    begun: float = 0.0
    """When the look that is under way began, on the monotonic clock."""
    due: float = 0.0

    def is_of(self, section: AdapterSection) -> bool:
        """Return whether this is the same back end, so that what is known of it stays."""
        return (self.section.type, self.section.settings) == (section.type, section.settings)


class Prepared(NamedTuple):
    """What the daemon is to follow."""

    found: Mapping[str, Found]
    """By connection."""
    settings: Settings
    """Those of the files, with the autoscalers that were found."""
    refused: Mapping[str, str]
    """Name of a policy -> why its autoscaler is not among them, although it was converted."""


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

        Under a changed main file, every policy is converted again, which takes a millisecond for each.
        """
        main = files if files.teams is None else files.teams.main
        found: dict[str, Found] = {}
        for name, section in files.adapters.items():
            if section.discover is not None:
                one = self._connections.get(name)
                kept = KnownPolicies() if one is None or not one.is_of(section) else one.found.known
                found[name] = (Found(main) if one is None else one.found).under(main, kept)
        sets = {one.file: one for each in found.values() for one in each.sets()}
        joined = join(files, [sets[name] for name in sorted(sets)], self._admit(found))
        problems = [problem for each in joined.refused.values() for problem in each if problem.file in sets]
        refused = {problem.file: problem.message for problem in problems}
        return Prepared(found, replace(joined, refused=files.refused), refused)

    def _admit(self, found: Mapping[str, Found]) -> Admit:
        """Return what limits new names: not in a connection's first hour, in which all of its policies are found."""
        now, known = self._clock.monotonic(), {*self._owners}
        for name, each in found.items():
            one = self._connections.get(name)
            if one is None or now - one.since < FIRST_SECONDS:
                known.update(granted.scaler.name for some in each.sets() for granted in some.granted)
        return self._new_names.admitting(known, now)

    def follow(self, prepared: Prepared) -> None:
        """Discover on the connections of a configuration, with what was prepared for it."""
        now: dict[str, _Connection] = {}
        for name, found in prepared.found.items():
            one, section = self._connections.get(name), prepared.settings.adapters[name]
            if one is None or not one.is_of(section):
                now[name] = _Connection(section, found, found.results, self._clock.monotonic())
            else:
                if found.settings is not one.found.settings:
                    one.due = 0.0
                one.found, one.followed = found, found.results
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
            known = one.found.known
            mine = [_document(target, result, self._refused) for target, (_, result) in one.found.results.items()]
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
                    one.looking, one.begun = spawn(f"discover-{name}", partial(self._look, name, one, one.found)), now
        other = any(one.found.results != one.followed for one in self._connections.values())
        return now >= self._put_off and (other or bool(self._new_names.due(now)))

    def put_off(self) -> None:
        """Let `turn` return False for a while: what was found could not be followed."""
        self._put_off = self._clock.monotonic() + _RETRY_SECONDS

    def _take_up(self, name: str, one: _Connection) -> None:
        if one.looking is None or not one.looking.done():
            return
        found, before, one.looking = one.looking.result(), one.found, None
        is_part = bool(found.known.failures) and found.known.policies.keys() > before.known.policies.keys()
        one.due = self._clock.monotonic() + (0.0 if is_part else PERIOD_SECONDS)
        if found.settings is not before.settings:  # the configuration was reloaded meanwhile
            one.found, one.due = replace(before, known=found.known), 0.0
            return
        one.found = found
        if found.known.failures != before.known.failures:
            self._log_failures(name, found.known)
        if found.results != before.results:
            refused = sum(isinstance(result, NotConverted) for _, result in found.results.values())
            self._logger.info("policies_discovered", connection=name, policies=len(found.results), refused=refused)

    def _log_failures(self, name: str, known: KnownPolicies) -> None:
        first = next(iter(known.failures.items()), None)
        if first is not None:
            where, error = first
            self._logger.warning(
                "discovery_failed", connection=name, where=where, error=error, failures=len(known.failures)
            )

    def _look(self, name: str, one: _Connection, found: Found) -> Found:
        """Return what is found now. On a thread of its own."""
        settings = found.settings
        namespaces = granted_namespaces(name, settings.grants)
        now = self._clock.now()
        call = Call(now, self._clock.monotonic() + DEADLINE_SECONDS)
        answer: Discovery | TargetError
        try:
            adapter = self._adapter(name, one)
            answer = checked_discovery(adapter.discover(namespaces, [*found.known.policies], call), name, namespaces)
        except TargetError as error:
            answer = checked_error(error)
        except (AutoscalerError, WrongAnswer) as error:
            answer = TargetUnavailable(str(error))
        except Exception as error:  # noqa: BLE001 - foreign code: what it raises is named
            answer = TargetUnavailable(bug(error))
        return found.under(settings, found.known.after(answer, namespaces, now))

    def _adapter(self, name: str, one: _Connection) -> Discovers:
        if one.adapter is None:
            one.adapter = self._builder.build_reader(name, one.section)
        if not isinstance(one.adapter, Discovers):
            raise AssertionError("`check` refuses `discover` for other adapters")
        return one.adapter


def _name(target: TargetRef) -> str:
    """Return what a policy is called where it is shown."""
    return f"{target.adapter}/{target.namespace}/{target.name}"


def _document(target: TargetRef, result: Converted | NotConverted, refused: Mapping[str, str]) -> DiscoveredPolicy:
    name = _name(target)
    why = str(result) if isinstance(result, NotConverted) else refused.get(name)
    if isinstance(result, NotConverted) or why is not None:
        return DiscoveredPolicy(target=name, autoscaler=None, dry_run=False, refused=plain(why or ""), differences=())
    scaler = result.granted.scaler
    return DiscoveredPolicy(
        target=name,
        autoscaler=scaler.name,
        dry_run=scaler.dry_run,
        refused=None,
        differences=tuple(map(plain, result.differences)),
    )


def _converted(target: TargetRef, policy: Policy, settings: Settings) -> Converted | NotConverted:
    try:
        return convert_policy(target, policy, settings)
    except NotConverted as error:
        return error
    except Exception as error:  # noqa: BLE001 - a policy is foreign, and costs no other one
        return NotConverted(bug(error))
