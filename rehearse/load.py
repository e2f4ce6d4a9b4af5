"""The load of a rehearsal's autoscalers, in instances. It changes all the time."""

import random
import threading
from collections.abc import Mapping
from typing import Final

from tests.servers.exporter import Exporter

LEAST: Final = 2
"""The least load, which is every autoscaler's minReplicas and its size at first."""
_CHANGES_SECONDS: Final = 0.5


class Load:
    """A load that changes until its end."""

    def __init__(self, exporter: Exporter, chance: random.Random, chances: Mapping[str, float], most: int) -> None:
        """`chances`: autoscaler -> the chance that its load changes in half a second, to LEAST up to `most`."""
        self._exporter, self._chance = exporter, chance
        self._chances, self._most = chances, most
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._set(dict.fromkeys(chances, LEAST))

    def start(self) -> None:
        self._thread.start()

    def end(self, levels: Mapping[str, int] | None = None) -> None:
        """Keep the loads at these levels; None: as they are."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()
        self._set(levels or {})

    def _play(self) -> None:
        while not self._ending.wait(_CHANGES_SECONDS):
            changing = [name for name, chance in self._chances.items() if self._chance.random() < chance]
            self._set({name: self._chance.randint(LEAST, self._most) for name in changing})

    def _set(self, levels: Mapping[str, int]) -> None:
        for name, level in levels.items():
            self._exporter.values[series(name)] = level


def series(name: str) -> str:
    """Return the query of an autoscaler's load."""
    return f'load{{of="{name}"}}'
