"""One autoscaler with all that is known of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from autoscaler.documents.base import Document
from autoscaler.documents.events import EventDocument, event
from autoscaler.documents.rules import SpecDocument, spec
from autoscaler.documents.summary import Summary
from autoscaler.model import Autoscaler, Decision

if TYPE_CHECKING:  # the command line reads documents that a daemon made, and needs no SQLAlchemy for it
    from autoscaler.record import EventRow


class Detail(Document):
    """One autoscaler: its line in the list, its configuration, its latest events."""

    summary: Summary
    spec: SpecDocument
    """As it is configured; of one that left the configuration, as it last was."""
    warnings: tuple[str, ...]
    """The target's own, for the operator."""
    events: tuple[EventDocument, ...]
    """Counted, the newest last."""


def detail(summary: Summary, scaler: Autoscaler, decision: Decision | None, events: "Sequence[EventRow]") -> Detail:
    """Its document. `scaler`: as configured, or as it was last recorded."""
    return Detail(
        summary=summary,
        spec=spec(scaler),
        warnings=() if decision is None else decision.warnings,
        events=tuple([event(row) for row in events]),
    )
