"""Where a past is read from."""

from dataclasses import dataclass
from datetime import datetime

from autoscaler.config.settings import Settings
from autoscaler.errors import AutoscalerError
from autoscaler.foresee.past import Past
from autoscaler.foresee.state_past import StatePast
from autoscaler.model import Autoscaler
from autoscaler.record import Archive


class NothingKnown(AutoscalerError):
    """No source has anything of that time; the message says what was looked for, and where."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What there is to read from."""

    archive: Archive
    settings: Settings | None
    """The configuration to try, which has the Prometheus sources."""


def source_of(sources: Sources, scaler: Autoscaler, since: datetime, until: datetime) -> Past:
    """What is known of an autoscaler from `since` to `until`: the state, for the time of which it has detail.

    Raises NothingKnown, StateError.
    """
    begin = sources.archive.detail_since(scaler.name)
    if begin is None or begin > until:
        oldest = "none of it at all" if begin is None else f"its oldest is of {begin.isoformat(timespec='seconds')}"
        raise NothingKnown(
            f"autoscaler {scaler.name!r}: the state has no detail of the time asked for: {oldest}; `state.detail` says "
            "how long it is kept"
        )
    return StatePast(sources.archive, scaler.name, since, until)
