"""Looks at the folders of teams twice a second, and reads changed files.

A file is read when two looks find it alike, so a file that is written slowly is read whole.
"""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from autoscaler.clock import Clock
from autoscaler.config.origins import Key, Origins
from autoscaler.config.team_files import Mark, look
from autoscaler.config.teams import changed_files, follow, is_file, problems_of
from autoscaler.runtime.policies import Finding

_REST_SECONDS: Final = 0.2
"""How long a changed file must not change before it is read."""
_LOOK_SECONDS: Final = 0.5
"""From one look to the next while nothing changes."""
_SHARE: Final = 20
"""After its files were loaded, a team's next change waits this many times as long, so that it costs others little."""
_LEAST_SECONDS: Final = 1.0
"""But at least so long."""


class Folders:
    """The folders of all teams, under one main file. Each look is in a thread of its own, until something changes."""

    kind: Final = "teams"
    """For the log's events."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ended = threading.Event()
        self._changed: Mapping[Path, Mark] = {}
        """What differed when the folders were last looked at."""
        self._free_at: dict[str, float] = {}
        """When a team's next change may be loaded, on the monotonic clock."""

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
        self._ended.wait(_REST_SECONDS if changed or broken else _LOOK_SECONDS)
        return None
