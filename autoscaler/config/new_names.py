"""Limits how many new names a grant brings in an hour: each leaves rows in the state for `state.retention`."""

from collections.abc import Callable, Collection
from typing import Final, TypeAlias

Admit: TypeAlias = Callable[[str, int, str], bool]
"""Returns whether a grant, which may bring this many new names in an hour, may bring this one."""
_HOUR: Final = 3600.0
FIRST_SECONDS: Final = _HOUR
"""How long a back end's names count as known after the daemon began to discover them: not all answer at once."""


def admit_all(grant: str, most: int, name: str) -> bool:  # noqa: ARG001 - as `Admit`
    """Admit every name: at the start, and when an operator reloads."""
    return True


class NewNames:
    """The names that came within the last hour. Times are monotonic seconds. For one thread at a time."""

    def __init__(self) -> None:
        self._came: dict[str, dict[str, float]] = {}
        """Grant's name -> name -> when it came, the oldest first."""
        self._waiting: set[tuple[str, str]] = set()
        """Grants, each with a name of it that was refused."""

    def admitting(self, known: Collection[str], now: float) -> Admit:
        """Return a function that admits `known` names, and as many others as each grant may bring."""
        self._waiting.clear()

        def admit(grant: str, most: int, name: str) -> bool:
            came = self._recent(grant, now)
            if name in known or name in came:
                return True
            if len(came) >= most:
                self._waiting.add((grant, name))
                return False
            came[name] = now
            return True

        return admit

    def due(self, now: float) -> Collection[str]:
        """Return the refused names of the grants that can bring one now, because an hour has passed for another."""
        return {name for grant, name in self._waiting if now - min(self._came[grant].values(), default=now) >= _HOUR}

    def _recent(self, grant: str, now: float) -> dict[str, float]:
        came = self._came.setdefault(grant, {})
        for name in [name for name, at in came.items() if now - at >= _HOUR]:
            del came[name]
        return came
