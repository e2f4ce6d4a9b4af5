"""One autoscaler with all that is known of it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from autoscaler.documents.base import Document
from autoscaler.documents.conclusion import conclusion
from autoscaler.documents.events import EventDocument, event
from autoscaler.documents.instances import InstanceList, instances
from autoscaler.documents.rules import SpecDocument, spec
from autoscaler.documents.summary import Summary
from autoscaler.model import Autoscaler

if TYPE_CHECKING:  # the command line reads documents that a daemon made, and needs neither SQLAlchemy nor YAML for it
    from autoscaler.config.settings import PrometheusSource
    from autoscaler.record import EventRow, Record


class Detail(Document):
    """One autoscaler: its line in the list, its configuration, its latest events."""

    summary: Summary
    spec: SpecDocument
    """As it is configured; of one that left the configuration, as it last was."""
    warnings: tuple[str, ...]
    """The target's own, for the operator; then what makes a dry run's shadow doubtful."""
    conclusion: str | None = None
    """What the last decision came to and why, such as `stays at 4: a higher recommendation, 6, 3m ago`."""
    instances: InstanceList | None = None
    """As the last cycle read them; null: there was none, or it could not read them."""
    events: tuple[EventDocument, ...]
    """Counted, the newest last."""


def detail(
    summary: Summary,
    scaler: Autoscaler,
    record: "Record | None",
    events: "Sequence[EventRow]",
    sources: "Mapping[str, PrometheusSource]",
) -> Detail:
    """Its document.

    `scaler`: as configured, or as it was last recorded. `record`: the last cycle, if there was one. `sources`: the
    configuration's.
    """
    return Detail(
        summary=summary,
        spec=spec(scaler, sources),
        warnings=() if record is None else record.decision.doubts,
        conclusion=None if record is None else conclusion(record),
        instances=None if record is None else instances(record),
        events=tuple([event(row) for row in events]),
    )
