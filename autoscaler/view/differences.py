"""What differs in two configurations."""

from typing import Any

from autoscaler.document import Document


class DifferenceDocument(Document):
    """A key with a different value."""

    path: str
    before: Any
    """As in the normalized file; null: the file does not have the key."""
    after: Any


class DifferenceList(Document):
    """The differences between two files."""

    before: str
    """The file."""
    after: str
    changes: tuple[DifferenceDocument, ...]
    """In the order of the keys."""
