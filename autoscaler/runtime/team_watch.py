"""Notices changes in the folders of teams, and loads changed files in a thread of its own.

The library only says that something changes; what differs is found by looking at all files, also every few seconds
without a word of it. A file is read when two looks find it alike, so a file that is written slowly is read whole.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from autoscaler.clock import Clock
from autoscaler.config.new_names import NewNames
from autoscaler.config.settings import Settings
from autoscaler.config.team_files import Mark, look
from autoscaler.config.teams import Teams, changed_files, follow, problems_of
from autoscaler.errors import bug
from autoscaler.logger import Logger
from autoscaler.runtime.requests import NewFiles
from autoscaler.threads import spawn

_REST_SECONDS: Final = 0.2
"""How long a changed file must not change before it is read."""
_LOOK_SECONDS: Final = 5.0
"""How often the folders are looked at if no change is noticed, as on a file system without notices."""
_RETRY_SECONDS: Final = 15.0
"""After a change that could not be followed."""
_SHARE: Final = 20
"""After its files were loaded, a team's next change waits this many times as long, so that it costs others little."""
_LEAST_SECONDS: Final = 1.0
"""But at least so long."""
_END_SECONDS: Final = 1.0


class TeamWatch:
    """Started and ended by the main thread."""

    def __init__(
        self, settings: Callable[[], Settings], ask: Callable[[NewFiles], object], clock: Clock, logger: Logger
    ) -> None:
        """`settings` returns those in force. `ask` passes a request to the main thread, which answers it."""
        self._settings = settings
        self._ask = ask
        self._clock = clock
        self._logger = logger
        self._ended = threading.Event()
        self._changed: Mapping[Path, Mark] = {}
        """What differed at the last look."""
        self._free_at: dict[str, float] = {}
        """When a team's next change may be loaded, on the monotonic clock."""
        self._new_names = NewNames()
        self._watched: tuple[Path, ...] = ()
        self._notices: Iterator[object] = iter(())
        self._failing = False
        self._thread: Future[None] | None = None

    def keep_up(self) -> None:
        """Start the thread if it does not run. Called about every second. Raises NoThread."""
        if self._thread is None or self._thread.done():
            self._thread = spawn("teams", self._run)

    def close(self) -> None:
        """End the thread. One that hangs in a file system ends with the process."""
        self._ended.set()
        if self._thread is not None:
            wait([self._thread], _END_SECONDS)

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self._turn()
            except Exception as error:  # noqa: BLE001 - a bug must not end the thread, and with it all later changes
                self._logger.error("teams_not_followed", error=bug(error))  # noqa: TRY400 - `bug` has the place
                self._ended.wait(_RETRY_SECONDS)

    def _turn(self) -> None:
        settings = self._settings()
        teams = settings.teams
        folder = settings.autoscalers_dir
        if teams is None or folder is None:
            self._ended.wait(_LOOK_SECONDS)
            return
        seen, now = look(folder, settings.grants), self._clock.monotonic()
        changed = changed_files(teams, seen)
        ready = {path for path, mark in changed.items() if self._changed.get(path) == mark}
        broken = {name for name, _ in problems_of(teams, seen).items() ^ teams.problems.items()}  # or mended
        self._changed = changed
        names = {
            name for name in broken.union(path.parent.name for path in ready) if self._free_at.get(name, now) <= now
        }.union(self._new_names.due(now))
        if names:
            ready = {path for path in ready if path.parent.name in names}
            admit = self._new_names.admitting(settings.owners, now)
            after = follow(teams.main, teams, seen, ready, admit)
            took = self._clock.monotonic() - now
            for name in names:
                self._free_at[name] = now + took + max(_LEAST_SECONDS, _SHARE * took)
            request = NewFiles(settings, after)
            self._ask(request)
            if request.wait(self._ended.is_set) is False:
                self._ended.wait(_RETRY_SECONDS)
        elif changed or broken:
            self._ended.wait(_REST_SECONDS)
        else:
            self._await(folder, teams)

    def _await(self, folder: Path, teams: Teams) -> None:
        """Wait for a notice of a change, at most `_LOOK_SECONDS`."""
        folders = (folder, *(folder / name for name in teams.main.grants))
        present = tuple([each for each in folders if each == folder or _is_folder(each)])
        try:
            if present != self._watched:
                self._watched, self._notices = present, _notices(present, self._ended)
            next(self._notices, None)
        except BaseException as error:  # noqa: BLE001 - the kernel's limit, no thread, a file system without notices
            if not self._failing:
                self._logger.warning("teams_not_watched", error=f"{error}; changes are found every {_LOOK_SECONDS:g} s")
            self._failing, self._watched = True, ()
            self._ended.wait(_LOOK_SECONDS)
        else:
            self._failing = False


def _is_folder(path: Path) -> bool:
    with suppress(OSError):
        return path.is_dir() and not path.is_symlink()
    return False


def _notices(folders: tuple[Path, ...], ended: threading.Event) -> Iterator[Any]:
    from watchfiles import watch  # noqa: PLC0415 - most daemons have no folder to watch

    return watch(
        *folders,
        watch_filter=None,
        debounce=100,
        step=50,
        rust_timeout=round(_LOOK_SECONDS * 1000),
        yield_on_timeout=True,
        stop_event=ended,
        raise_interrupt=False,
        recursive=False,
    )
