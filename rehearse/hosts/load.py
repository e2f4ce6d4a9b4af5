"""The load of a world's autoscalers, in instances. It changes all the time."""

import random
import threading
from collections.abc import Sequence
from typing import Final

from tests.servers.exporter import Exporter

LEAST: Final = 2
MAX_SIZE: Final = 9
BY_WINDOW: Final = frozenset({"red", "green", "oak", "elm"})
"""Autoscalers that their stabilization window limits. Policies limit the others."""
_CHANGES_SECONDS: Final = 0.5
_CHANCE: Final = 0.25
_CHANCE_BY_WINDOW: Final = 0.06
"""A load that changes more often never falls for long enough for a scale-in."""


class Load:
    """A load that changes until its end."""

    def __init__(self, exporter: Exporter, chance: random.Random, names: Sequence[str]) -> None:
        self._exporter = exporter
        self._chance = chance
        self._names = names
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._play, daemon=True)
        for name in names:
            self._set(name, LEAST)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Keep the load as it is."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def _play(self) -> None:
        while not self._ending.wait(_CHANGES_SECONDS):
            for name in self._names:
                if self._chance.random() < (_CHANCE_BY_WINDOW if name in BY_WINDOW else _CHANCE):
                    self._set(name, self._chance.randint(LEAST, MAX_SIZE))

    def _set(self, name: str, level: int) -> None:
        self._exporter.values[series(name)] = level


def series(name: str) -> str:
    """Return the query of an autoscaler's load."""
    return f'load{{of="{name}"}}'
