"""What another configuration would change."""

from autoscaler.documents.base import Document
from autoscaler.whatif.changes import Change, Kind
from autoscaler.whatif.documents.replay import ReplayDocument


class AutoscalerChangesDocument(Document):
    """What would change for one autoscaler."""

    name: str
    kind: Kind
    changes: tuple[Change, ...]
    """The keys with a different value, if the autoscaler is in both configurations."""
    decides_otherwise: bool
    """Whether its sizes could be different over the same past."""
    replay: ReplayDocument | None
    """The past with the configuration before and with the one after; null if it was not replayed."""


class DiffDocument(Document):
    """The differences between two configurations."""

    before: str
    """The file, or `what runs now`."""
    after: str
    sections: tuple[str, ...] | None
    """The keys outside of `autoscalers` with a different value; null if those of the running daemon are unknown."""
    autoscalers: tuple[AutoscalerChangesDocument, ...]
    """Those that differ, by name."""
    unchanged: int
    """The number of the others."""
