"""Which daemon serves an autoscaler, where several share the state."""

from collections.abc import Mapping

from autoscaler.documents.summary import Held
from autoscaler.model import TargetRef
from autoscaler.record import slot_of


class Holders:
    """As the state says."""

    def __init__(self, places: Mapping[tuple[str, int], str] | None) -> None:
        """`places`: adapter connection and slot -> host and process of who holds it; None: the state has one daemon."""
        self._places = places

    def of(self, target: TargetRef) -> Held | None:
        """Of a configured target; None: the state has one daemon."""
        return None if self._places is None else Held(self._places.get((target.adapter, slot_of(target))))
