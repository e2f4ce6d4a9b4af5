"""How far what was inferred from Prometheus agrees with the state, where both are known."""

from datetime import datetime
from typing import Final

from autoscaler.documents.base import Document
from autoscaler.whatif.compare.agreement import Agreement, Difference, Why

_MOST_DIFFERENCES: Final = 1_000


class AgreementDifference(Document):
    """Cycles in a row whose size is another one, for one reason."""

    begin: datetime
    end: datetime
    cycles: int
    why: Why
    message: str
    """Of the first of them."""
    recorded: int | None
    """The size that was decided in the first; null: nothing was."""
    inferred: int | None
    text: str
    """All of it in a sentence."""


class AgreementDocument(Document):
    """What came of holding both against each other."""

    cycles: int
    """Of the state, as far as the inferred past reaches."""
    same: int
    """In which the same size was decided."""
    same_read: int
    """In which the same size was read."""
    summary: str
    """In a sentence."""
    differences: tuple[AgreementDifference, ...]
    """In order of time; the first, where there were more."""
    more_differences: int
    """How many there are beside those."""


def agreement_document(found: Agreement | None) -> AgreementDocument | None:
    """The document; None: nothing was inferred, or nothing is known of both."""
    if found is None:
        return None
    return AgreementDocument(
        cycles=found.cycles,
        same=found.same,
        same_read=found.same_read,
        summary=found.summary(),
        differences=tuple([_difference(each) for each in found.differences[:_MOST_DIFFERENCES]]),
        more_differences=max(0, len(found.differences) - _MOST_DIFFERENCES),
    )


def _difference(each: Difference) -> AgreementDifference:
    return AgreementDifference(
        begin=each.begin,
        end=each.end,
        cycles=each.cycles,
        why=each.why,
        message=each.message,
        recorded=each.recorded,
        inferred=each.inferred,
        text=str(each),
    )
