"""Lanes where a test has none."""

from collections.abc import Mapping, Sequence

from autoscaler.model import LaneName


class NoLanes:
    """What is shown of `schedule.Lanes` before the first is added."""

    def missed(self) -> Mapping[str, int]:
        return {}

    def hung(self) -> Sequence[LaneName]:
        return ()

    def superseded(self) -> Mapping[str, int]:
        return {}

    def clock_steps(self) -> int:
        return 0
