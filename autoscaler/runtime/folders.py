"""Looks at the folders of teams, and reads changed files.

The library only says that something changes; what differs is found by looking at all files, also every few seconds
without a word of it. A file is read when two looks find it alike, so a file that is written slowly is read whole.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from autoscaler.clock import Clock
from autoscaler.config.origins import Key, Origins
from autoscaler.config.team_files import Mark, look
from autoscaler.config.teams import changed_files, follow, is_file, problems_of
from autoscaler.logger import Logger
from autoscaler.runtime.policies import Finding

_REST_SECONDS: Final = 0.2
"""How long a changed file must not change before it is read."""
_LOOK_SECONDS: Final = 5.0
"""How often the folders are looked at if no change is noticed, as on a file system without notices."""
_SHARE: Final = 20
"""After its files were loaded, a team's next change waits this many times as long, so that it costs others little."""
_LEAST_SECONDS: Final = 1.0
"""But at least so long."""


class Folders:
    """The folders of all teams, under one main file. Each look is in a thread of its own, until something changes."""

    kind: Final = "teams"
    """For the log's events."""

    def __init__(self, clock: Clock, logger: Logger) -> None:
        self._clock = clock
        self._logger = logger
        self._ended = threading.Event()
        self._changed: Mapping[Path, Mark] = {}
        """What differed when the folders were last looked at."""
        self._free_at: dict[str, float] = {}
        """When a team's next change may be loaded, on the monotonic clock."""
        self._watched: tuple[Path, ...] = ()
        self._notices: Iterator[object] = iter(())
        self._failing = False

    def owns(self, key: Key) -> bool:
        """Return whether an origin is a file."""
        return is_file(key)

    def close(self) -> None:
        """End the look that is under way."""
        self._ended.set()

    def look(self, known: Origins) -> Finding:
        """Wait until something has changed, and return what is known then."""
        while not self._ended.is_set():
            found = self._turn(known)
            if found is not None:
                return Finding(found, is_part=True)
        return Finding(known)

    def _turn(self, known: Origins) -> Origins | None:
        """Return what is known after changes; None: there are none yet."""
        folder = known.main.autoscalers_dir
        if folder is None:
            raise AssertionError("without a folder there is no source")
        seen, now = look(folder, known.main.grants), self._clock.monotonic()
        changed = changed_files(known, seen)
        ready = {path for path, mark in changed.items() if self._changed.get(path) == mark}
        broken = {name for name, _ in problems_of(known, seen).items() ^ known.problems.items()}  # or mended
        self._changed = changed
        names = {
            name for name in broken.union(path.parent.name for path in ready) if self._free_at.get(name, now) <= now
        }
        if names:
            after = follow(known, seen, {path for path in ready if path.parent.name in names})
            took = self._clock.monotonic() - now
            for name in names:
                self._free_at[name] = now + took + max(_LEAST_SECONDS, _SHARE * took)
            return after
        if changed or broken:
            self._ended.wait(_REST_SECONDS)
        else:
            self._await(folder, known)
        return None

    def _await(self, folder: Path, known: Origins) -> None:
        """Wait for a notice of a change, at most `_LOOK_SECONDS`."""
        folders = (folder, *(folder / name for name in known.main.grants))
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
