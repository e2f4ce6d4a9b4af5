"""Which daemon serves an autoscaler, where several share the state."""

from collections.abc import Mapping

from autoscaler.documents.summary import Held
from autoscaler.model import Autoscaler
from autoscaler.record import slot_of


class Holders:
    """As the state says."""

    def __init__(self, served: Mapping[str, Mapping[tuple[str, int], str]] | None) -> None:
        """`served`: the autoscaler's name -> adapter connection and slot -> host and process of who serves it there.

        None: the state has one daemon.
        """
        self._served = served

    def of(self, name: str, scaler: Autoscaler | None) -> Held | None:
        """Of an autoscaler; None: the state has one daemon.

        `scaler`: as the configuration has it that asks; None: it has not. Then it may be another daemon's alone, and
        where it is nobody's either, that is no news: None.
        """
        if self._served is None:
            return None
        places = self._served.get(name, {})
        others = min(places.values(), default=None)
        if scaler is None:
            return None if others is None else Held(others)
        return Held(places.get((scaler.target.adapter, slot_of(scaler.target)), others))
