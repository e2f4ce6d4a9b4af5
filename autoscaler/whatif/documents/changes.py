"""What another configuration would change, of each autoscaler."""

from collections.abc import Mapping, Sequence

from autoscaler.documents.base import Document
from autoscaler.whatif.changes import AutoscalerChanges, Change, Kind
from autoscaler.whatif.documents.replay import ReplayDocument


class AutoscalerChangesDocument(Document):
    """What becomes of one autoscaler."""

    name: str
    kind: Kind
    changes: tuple[Change, ...]
    """Of one that changed."""
    decides_otherwise: bool
    """Whether the same past could come to other sizes."""
    replay: ReplayDocument | None
    """The past as it was, with the configuration before, and with the one after; null: it was not replayed."""


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
    before: str,
    after: str,
    sections: Sequence[str] | None,
    changes: Sequence[AutoscalerChanges],
    unchanged: int,
    replays: Mapping[str, ReplayDocument],
) -> DiffDocument:
    """Its document. `replays`: of those that were replayed, by name."""
    return DiffDocument(
        before=before,
        after=after,
        sections=None if sections is None else tuple(sections),
        autoscalers=tuple([AutoscalerChangesDocument.of(each, replay=replays.get(each.name)) for each in changes]),
        unchanged=unchanged,
    )
