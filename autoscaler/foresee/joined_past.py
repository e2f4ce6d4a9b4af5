"""One past after another, as one."""

from collections.abc import Iterator, Sequence
from typing import Final

from autoscaler.foresee.past import Finding, Moment, Past


class JoinedPast:
    """Pasts of one autoscaler that follow each other. Raises what each of them raises."""

    def __init__(self, parts: Sequence[Past]) -> None:
        """`parts`: at least one, in order of time."""
        self._parts: Final = parts
        self._current = parts[0]

    @property
    def name(self) -> str:
        """The autoscaler's."""
        return self._current.name

    @property
    def origin(self) -> str:
        """Of the moment that was read last."""
        return self._current.origin

    @property
    def findings(self) -> Sequence[Finding]:
        """Of all parts, in order of time."""
        return sorted([each for part in self._parts for each in part.findings], key=lambda each: each.begin)

    def moments(self) -> Iterator[Moment]:
        """Of each part in turn."""
        for part in self._parts:
            self._current = part
            yield from part.moments()
