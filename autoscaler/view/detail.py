"""One autoscaler in detail."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from autoscaler.document import Document
from autoscaler.model import Autoscaler, TargetState
from autoscaler.rules.shown import ShownDetail
from autoscaler.view.events import EventDocument, event
from autoscaler.view.instances import InstanceList, instances
from autoscaler.view.parts import keys, rules_with, with_parts
from autoscaler.view.rules import SpecDocument, spec
from autoscaler.view.story import why
from autoscaler.view.summary import Summary

if TYPE_CHECKING:  # the command line reads the daemon's documents without SQLAlchemy and YAML
    from autoscaler.config.settings import PrometheusSource
    from autoscaler.record.values import EventRow, Record


@with_parts(ShownDetail, behind=("instances", "warnings"))
class Detail(Document):
    """One autoscaler: its line in the list, its configuration, its latest events."""

    summary: Summary
    spec: SpecDocument
    """Its configuration; the last one, if it was removed from the file."""
    warnings: tuple[str, ...]
    """The target's own."""
    conclusion: str | None = None
    """The first line of the last decision's story, as in the summary."""
    instances: InstanceList | None = None
    """The instances in the last cycle; null: there was none, or it could not read them."""
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
        conclusion=None if record is None else why(record.decision),
        instances=None if record is None else instances(record),
        events=tuple([event(row) for row in events]),
        **({} if record is None else keys(_found(scaler, record))),
    )


def _found(scaler: Autoscaler, record: "Record") -> Iterator[ShownDetail]:
    """Yield what the rules found out about the target."""
    target = None if record.observation is None else record.observation.target
    state = target if isinstance(target, TargetState) else None
    memories, size = record.decision.remembered.rules.of, record.decision.current
    for rule, part in rules_with(scaler, ShownDetail):
        yield part.of_target(rule, memories.get(rule.name), state, size)
