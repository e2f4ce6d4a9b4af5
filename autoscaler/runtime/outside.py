"""Follows the origins of autoscalers outside the main file: the folders of teams, and the policies of back ends.

Each source of origins is looked at in a thread of its own, which delays no cycle. The main thread takes up what a look
has found into one table, and follows it.
"""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Final

from autoscaler.clock import Clock
from autoscaler.config.new_names import FIRST_SECONDS, Admit, NewNames
from autoscaler.config.origins import Origins, origins_of
from autoscaler.config.settings import Settings
from autoscaler.config.teams import is_file
from autoscaler.errors import bug
from autoscaler.logger import Logger
from autoscaler.runtime.building import Builder
from autoscaler.runtime.discovered_list import connection_row, discovered_list
from autoscaler.runtime.folders import Folders
from autoscaler.runtime.policies import DEADLINE_SECONDS, Finding, Policies
from autoscaler.threads import NoThread, spawn
from autoscaler.view.discovered import DiscoveredList

PERIOD_SECONDS: Final = 30.0
"""From the end of a look at a back end's policies to the next one."""
_HANGS_AFTER_SECONDS: Final = 2 * DEADLINE_SECONDS
_RETRY_SECONDS: Final = 15.0
_END_SECONDS: Final = 1.0


@dataclass(slots=True, eq=False)
class _Followed:
    """A source of origins."""

    source: Folders | Policies
    since: float
    """When the daemon began to look at it, on the monotonic clock."""
    failures: Mapping[str, str] = field(default_factory=dict)
    at: datetime | None = None
    """When the back end last answered; None: it has not."""
    looking: Future[Finding] | None = None
    begun: float = 0.0
    """When the look that is under way began, on the monotonic clock."""
    due: float = 0.0


class Outside:
    """All origins. Used by the main thread; any thread may call `document`."""

    def __init__(
        self, builder: Builder, clock: Clock, logger: Logger, wake: Callable[[], object] = lambda: None
    ) -> None:
        """`wake` is called when a look has ended, from its thread."""
        self._builder = builder
        self._clock = clock
        self._logger = logger
        self._wake = wake
        self._table: Origins | None = None
        """What is known."""
        self._followed: Settings | None = None
        self._sources: dict[str, _Followed] = {}
        self._changed: frozenset[str] = frozenset()
        """The kinds of the sources of which other origins are known than are followed."""
        self._put_off = 0.0
        self._new_names = NewNames()

    def prepare(self, files: Settings) -> Settings:
        """Return settings read from the files, with the autoscalers of the policies that are known."""
        own = origins_of(files)
        if self._table is None:
            return files
        kept = [one.source for one in self._sources.values() if _is_kept(one.source, own.main)]
        policies = self._table.of(lambda key: any(source.owns(key) for source in kept)).under(own.main)
        if not policies.table:
            return files
        return replace(own, table={**own.table, **policies.table}).joined()

    def changed(self) -> Settings:
        """Return the settings with the origins that are known now. Limits how many names a grant may add at a time."""
        return self._known().joined(self._admit())

    def follow(self, settings: Settings) -> None:
        """Note the configuration in force. After a reload, look at its teams' folders and discovering connections."""
        table = origins_of(settings)
        is_reload = self._table is None or table.main is not self._table.main
        self._table, self._followed, self._changed = table, settings, frozenset()
        if is_reload:
            self._follow_main(table.main)

    def _follow_main(self, main: Settings) -> None:
        """Look at the sources of this main file."""
        before, now = self._sources, self._clock.monotonic()
        self._sources = {}
        if main.autoscalers_dir is not None:
            self._sources[""] = _Followed(Folders(self._clock), now)
        for name, section in main.adapters.items():
            if section.discover is not None:
                known = before.get(name)
                if known is None or not _is_kept(known.source, main):
                    known = _Followed(Policies(name, section, self._builder, self._clock), now)
                known.due = 0.0
                self._sources[name] = known
        for one in before.values():
            if one not in self._sources.values():
                one.source.close()

    def close(self) -> None:
        """End the look at the folders of teams. One that hangs in a file system ends with the process."""
        for one in self._sources.values():
            if isinstance(one.source, Folders):
                one.source.close()
                wait([one.looking] if one.looking else [], _END_SECONDS)

    def document(self) -> DiscoveredList:
        """Return all origins, and what became of each. From any thread."""
        unserved = {} if self._followed is None else origins_of(self._followed).unserved
        found = discovered_list(self._table, unserved)
        now = self._clock.monotonic()
        rows = []
        for name, one in sorted(self._sources.items()):
            if isinstance(one.source, Policies):
                failures = one.failures
                if one.looking is not None and now - one.begun > _HANGS_AFTER_SECONDS:
                    others = {where: why for where, why in failures.items() if where != name}
                    failures = {name: f"its adapter has not answered for {now - one.begun:.0f} s"} | others
                rows.append(connection_row(name, one.at, failures, found.policies))
        return found.model_copy(update={"connections": tuple(rows)})

    def turn(self) -> Collection[str]:
        """Begin to read the sources that are due, and use the results of those that have ended.

        Called about every second. Returns the kinds, "teams" and "policies", of which other autoscalers are known than
        those in force.
        """
        now = self._clock.monotonic()
        for name, one in self._sources.items():
            self._take_up(name, one)
            if one.looking is None and now >= one.due:
                one.due = now + PERIOD_SECONDS
                with suppress(NoThread):  # it is tried again
                    look = partial(one.source.look, self._known().of(one.source.owns))
                    one.looking, one.begun = spawn(f"discover-{name}" if name else "teams", look), now
                    one.looking.add_done_callback(lambda _: self._wake())
        if now < self._put_off:
            return ()
        return self._changed | self._kinds(self._new_names.due(now))

    def put_off(self) -> None:
        """Let `turn` return nothing for a while, because the daemon could not take up what was found."""
        self._put_off = self._clock.monotonic() + _RETRY_SECONDS

    def _known(self) -> Origins:
        if self._table is None:
            raise AssertionError("`follow` comes first")
        return self._table

    def _kinds(self, names: Collection[str]) -> frozenset[str]:
        """Return the kinds of the sources that have autoscalers of these names."""
        if not names:
            return frozenset()
        table = self._known().table
        keys = [key for key, each in table.items() if any(one.scaler.name in names for one in each.granted)]
        return frozenset(Folders.kind if is_file(key) else Policies.kind for key in keys)

    def _admit(self) -> Admit:
        """Return what limits new names: not in a connection's first hour, in which all of its policies are found."""
        now, names = self._clock.monotonic(), {*(self._followed.owners if self._followed else ())}
        first = [one.source for one in self._sources.values() if now - one.since < FIRST_SECONDS]
        for key, each in self._known().table.items():
            if any(isinstance(source, Policies) and source.owns(key) for source in first):
                names.update(granted.scaler.name for granted in each.granted)
        return self._new_names.admitting(names, now)

    def _take_up(self, name: str, one: _Followed) -> None:
        if one.looking is None or not one.looking.done():
            return
        looked, one.looking, table, now = one.looking, None, self._known(), self._clock.monotonic()
        try:
            found = looked.result()
        except Exception as error:  # noqa: BLE001 - a bug must not end all later looks
            one.due = now + _RETRY_SECONDS
            self._logger.error(f"{one.source.kind}_not_followed", error=bug(error))  # noqa: TRY400 - `bug` has the place
            return
        if found.origins.main is not table.main:  # the configuration was reloaded meanwhile
            one.due = 0.0
            return
        one.due = now + (0.0 if found.is_part else PERIOD_SECONDS)
        before = table.of(one.source.owns)
        others = {key: each for key, each in table.table.items() if key not in before.table}
        is_team = isinstance(one.source, Folders)
        problems = found.origins.problems if is_team else table.problems
        self._table = replace(table, table={**others, **found.origins.table}, problems=problems)
        differs = found.origins.table != before.table
        if differs or problems != table.problems:
            self._changed |= {one.source.kind}
        if not is_team:
            self._log(name, one, found, differs=differs)
        one.failures, one.at = found.failures, found.at or one.at

    def _log(self, name: str, one: _Followed, found: Finding, *, differs: bool) -> None:
        first = next(iter(found.failures.items()), None)
        if first is not None and found.failures != one.failures:
            where, error = first
            self._logger.warning(
                "discovery_failed", connection=name, where=where, error=error, failures=len(found.failures)
            )
        if differs:
            table = found.origins.table
            refused = sum(not each.granted or bool(each.problems) for each in table.values())
            self._logger.info("policies_discovered", connection=name, policies=len(table), refused=refused)


def _is_kept(source: Folders | Policies, main: Settings) -> bool:
    """Return whether a source is a back end of this main file, so that what is known of it stays."""
    if isinstance(source, Folders):
        return False
    section = main.adapters.get(source.name)
    return section is not None and section.discover is not None and source.is_of(section)
