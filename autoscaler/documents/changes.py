"""What another configuration would change, of each autoscaler."""

from collections.abc import Sequence

from autoscaler.documents.base import Document
from autoscaler.foresee.changes import AutoscalerChanges, Kind


class ChangeDocument(Document):
    """One key with another value."""

    path: str
    """Of the key, below the autoscaler; below `controller`: what it takes from there."""
    before: str | None
    """As the configuration writes it, defaults filled in; null: there was none."""
    after: str | None
    """null: there is none any more."""


class AutoscalerChangesDocument(Document):
    """What becomes of one autoscaler."""

    name: str
    kind: Kind
    changes: tuple[ChangeDocument, ...]
    """Of one that changed."""
    decides_otherwise: bool
    """Whether the same past could come to other sizes."""


class DiffDocument(Document):
    """Two configurations, one against the other."""

    before: str
    """The file; or the daemon whose running configuration it is."""
    after: str
    sections: tuple[str, ...] | None
    """Keys outside of `autoscalers` with another value; null: a running configuration does not tell."""
    autoscalers: tuple[AutoscalerChangesDocument, ...]
    """Those that differ, by name."""
    unchanged: int
    """How many autoscalers do not."""


def diff_document(
    before: str, after: str, sections: Sequence[str] | None, changes: Sequence[AutoscalerChanges], unchanged: int
) -> DiffDocument:
    """Its document."""
    return DiffDocument(
        before=before,
        after=after,
        sections=None if sections is None else tuple(sections),
        autoscalers=tuple([_document(each) for each in changes]),
        unchanged=unchanged,
    )


def _document(found: AutoscalerChanges) -> AutoscalerChangesDocument:
    changes = [ChangeDocument(path=each.path, before=each.before, after=each.after) for each in found.changes]
    return AutoscalerChangesDocument(
        name=found.name, kind=found.kind, changes=tuple(changes), decides_otherwise=found.decides_otherwise
    )
