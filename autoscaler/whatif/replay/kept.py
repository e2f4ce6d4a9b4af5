"""The cycles of a course's changes: what explains them, as far as there is room."""

from collections.abc import Sequence
from typing import Final

from autoscaler.whatif.replay.course import Course
from autoscaler.whatif.replay.replay import Replayed

MOST_KEPT: Final = 100
"""Changes of one course that can be explained; up to twice as many before every second of them is let go."""


class KeptChanges:
    """Of many changes, those that stay are spread evenly over all of them."""

    def __init__(self, course: Course, most: int = MOST_KEPT) -> None:
        self._course: Final = course
        self._most: Final = most
        self._kept: Final = list[Replayed]()
        self._seen = 0
        """Changes of the course so far."""
        self._every = 1

    @property
    def cycles(self) -> Sequence[Replayed]:
        """Those that were kept, in order."""
        return self._kept

    def see(self, replayed: Replayed) -> None:
        """The cycle that was added to the course last."""
        seen, self._seen = self._seen, len(self._course.changes)
        if self._seen == seen or seen % self._every:
            return
        self._kept.append(replayed)
        if len(self._kept) == 2 * self._most:
            del self._kept[1::2]
            self._every *= 2
