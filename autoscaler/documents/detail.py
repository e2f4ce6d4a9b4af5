"""One autoscaler in detail."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from autoscaler.documents.base import Document, Seconds
from autoscaler.documents.conclusion import conclusion
from autoscaler.documents.events import EventDocument, event
from autoscaler.documents.instances import InstanceList, instances
from autoscaler.documents.rules import SpecDocument, spec
from autoscaler.documents.summary import Summary
from autoscaler.foresee.schedule import suggested_lead_time
from autoscaler.model import Autoscaler, TargetState
from autoscaler.rules.recover_size import last_deployment

if TYPE_CHECKING:  # the command line reads the daemon's documents without SQLAlchemy and YAML
    from autoscaler.config.settings import PrometheusSource
    from autoscaler.record import EventRow, Record


class Detail(Document):
    """One autoscaler: its line in the list, its configuration, its latest events."""

    summary: Summary
    spec: SpecDocument
    """Its configuration; the last one, if it was removed from the file."""
    warnings: tuple[str, ...]
    """The target's own."""
    reset_by: str | None = None
    """What sets the size at the next deployment, and the remedy; null: nothing is known to."""
    conclusion: str | None = None
    """The result of the last decision and its cause, such as `stays at 4: a higher recommendation, 6, 3m ago`."""
    instances: InstanceList | None = None
    """The instances in the last cycle; null: there was none, or it could not read them."""
    suggested_lead_time_seconds: Seconds | None = None
    """The start-up time of its instances; null: it is unknown, or its schedules open early enough before a start."""
    events: tuple[EventDocument, ...]
    """Equal events are counted; the newest is last."""


def detail(
    summary: Summary,
    scaler: Autoscaler,
    record: "Record | None",
    events: "Sequence[EventRow]",
    sources: "Mapping[str, PrometheusSource]",
) -> Detail:
    """Return the document of one autoscaler.

    `scaler`: as configured, or as last recorded. `record`: the last cycle, if there was one. `sources`: the
    configuration's.
    """
    return Detail(
        summary=summary,
        spec=spec(scaler, sources),
        warnings=() if record is None else record.decision.warnings,
        reset_by=None if record is None else _reset_by(record),
        conclusion=None if record is None else conclusion(record),
        instances=None if record is None else instances(record),
        suggested_lead_time_seconds=None if record is None else suggested_lead_time(scaler, record.observation),
        events=tuple([event(row) for row in events]),
    )


def _reset_by(record: "Record") -> str | None:
    """Return what the back end knows, else what an earlier deployment has shown."""
    state = None if record.observation is None else record.observation.target
    known = last_deployment(record.decision.remembered.rules.of)
    if isinstance(state, TargetState) and state.reset_by:
        return state.reset_by
    if known is None or not known.remedy or known.size in (None, record.decision.current):
        return None
    return f"the last deployment set the size to {known.size}, and the next one may; to prevent this, {known.remedy}"
