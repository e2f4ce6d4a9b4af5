"""The daemon that serves an autoscaler, if several share the state."""

from collections.abc import Mapping

from autoscaler.documents.summary import Holder
from autoscaler.model import Autoscaler
from autoscaler.record import target_text


class Holders:
    """The daemons that serve autoscalers, from the state."""

    def __init__(self, served: Mapping[str, Mapping[str, str]] | None) -> None:
        """`served`: autoscaler's name -> target, as text -> host and process of the daemon that serves it.

        None: the state has one daemon.
        """
        self._served = served

    def of(self, name: str, scaler: Autoscaler | None) -> Holder | None:
        """Return the holder of an autoscaler; None: the state has one daemon.

        `scaler`: in the configuration of this process; None: it is not there. Another daemon's configuration may have
        it; if no daemon serves it, that is no problem either, and None is returned.
        """
        if self._served is None:
            return None
        targets = self._served.get(name, {})
        others = min(targets.values(), default=None)
        if scaler is None:
            return None if others is None else Holder(others)
        return Holder(targets.get(target_text(scaler.target), others))
