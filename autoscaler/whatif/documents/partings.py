"""Where two candidates part."""

from collections.abc import Sequence
from datetime import datetime

from autoscaler.documents.base import Document
from autoscaler.model import Step
from autoscaler.whatif.compare.partings import Causes, Parting


class CauseDocument(Document):
    """The step of a decision that made it another one than the other candidate's."""

    reason: str
    before: int
    after: int
    detail: str


class PartingDocument(Document):
    """A time in which the sizes of the first two candidates were different without a break."""

    begin: datetime
    """The first cycle that they decided otherwise."""
    end: datetime
    """The last cycle after which their sizes were different."""
    first: tuple[int, int]
    """Their sizes at the beginning."""
    furthest: tuple[int, int]
    """Their sizes when they were furthest apart."""
    causes: tuple[CauseDocument | None, CauseDocument | None] | None
    """The step of each at which their decisions at the beginning differ first; null: it took none there. null for both:
    their sizes were different before."""


def parting_document(found: Parting) -> PartingDocument:
    """Its document."""
    return PartingDocument(
        begin=found.begin,
        end=found.end,
        first=(found.first.one, found.first.other),
        furthest=(found.furthest.one, found.furthest.other),
        causes=None if found.causes is None else _causes(found.causes),
    )


def _causes(causes: Causes) -> tuple[CauseDocument | None, CauseDocument | None]:
    return _cause(causes.one), _cause(causes.other)


def _cause(step: Step | None) -> CauseDocument | None:
    if step is None:
        return None
    return CauseDocument(reason=step.reason, before=step.before, after=step.after, detail=step.detail)


def because(parting: PartingDocument, labels: Sequence[str]) -> str:
    """Why they part, in a sentence: the step of each that made the difference. `labels`: what the two are called."""
    if parting.causes is None:
        return "their sizes were different before"
    return "; ".join(f"{label}: {_step(each)}" for label, each in zip(labels, parting.causes, strict=True))


def _step(cause: CauseDocument | None) -> str:
    if cause is None:
        return "no step"
    change = f"stays {cause.after}" if cause.before == cause.after else f"{cause.before} -> {cause.after}"
    return f"{cause.reason}, {change} ({cause.detail})"
