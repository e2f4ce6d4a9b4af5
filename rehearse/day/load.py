"""The load of every service at each hour of the day. It is constant for a third of them and varies for the others."""

import math
import random
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from adapters.memory.groups import Group, Groups
from rehearse.day.config import INITIAL
from tests.servers.exporter import Exporter
from tests.servers.stepped_clock import SteppedClock

_EVERY_SECONDS: Final = 0.5
_SWING_HOURS: Final = 3.0
"""The varying loads. Every quarter of the day is like the others."""


def load_of(number: int, hours: float) -> int:
    """Return the load of one service. An instance should take ten."""
    middle = 20 + 5 * (number % 7)
    match number % 3:
        case 0:
            return middle
        case 1:
            return round(middle * (1 + 0.6 * math.sin(2 * math.pi * hours / _SWING_HOURS + number)))
        case _:
            return random.Random(f"{number} {int(hours * 4)}").randint(1, 2 * middle)


class Load:
    """Keeps the exporter's series up to date, in its own thread."""

    def __init__(self, exporter: Exporter, clock: SteppedClock, state: Path) -> None:
        """`state`: the daemon's folder, with the groups of the connections."""
        self._exporter, self._clock, self._state = exporter, clock, state
        self._began = clock.now()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep_up, daemon=True)
        self.on: Mapping[str, str] = {}
        """Autoscaler -> its connection."""

    def start(self) -> None:
        """Begin to publish."""
        self._thread.start()

    def stop(self) -> None:
        """No more."""
        self._ended.set()
        self._thread.join()

    def _keep_up(self) -> None:
        while not self._ended.wait(_EVERY_SECONDS):
            hours = (self._clock.now() - self._began) / 3600
            values = dict[str, float]()
            for name, adapter in self.on.items():
                load = load_of(int(name[1:]), hours)
                values[f'load{{service="{name}"}}'] = load
                values[f'queue{{service="{name}"}}'] = load // 2
                values |= {
                    f'inflight{{service="{name}",instance_id="{member}"}}': load / len(members)
                    for members in [self._members(adapter, name)]
                    for member in members
                }
            self._exporter.values = values

    def _members(self, adapter: str, name: str) -> tuple[str, ...]:
        """Return the members of a group. A group that was never scaled has no file."""
        with suppress(OSError, ValueError):  # damaged on purpose
            groups = Groups(self._state / "adapters" / adapter)
            return tuple((groups.read(name) or Group.first(name, INITIAL)).members)
        return ()
