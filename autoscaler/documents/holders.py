"""Which daemon serves an autoscaler, where several share the state."""

from collections.abc import Mapping

from autoscaler.documents.summary import Held
from autoscaler.model import Autoscaler
from autoscaler.record import target_text


class Holders:
    """As the state says."""

    def __init__(self, served: Mapping[str, Mapping[str, str]] | None) -> None:
        """`served`: the autoscaler's name -> target, as text -> host and process of the daemon that serves it there.

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
        targets = self._served.get(name, {})
        others = min(targets.values(), default=None)
        if scaler is None:
            return None if others is None else Held(others)
        return Held(targets.get(target_text(scaler.target), others))
