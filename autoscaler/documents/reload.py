"""A reload that changed nothing."""

from datetime import datetime

from autoscaler.documents.base import Document


class RefusedReload(Document):
    """The last reload, which was refused: what runs is the configuration of before."""

    at: datetime
    problem: str
    """The first thing that was wrong, with its place and remedy."""
    problems: int
    """How many there were."""
