"""The base of the documents that still import it from here."""

from autoscaler.document import Document, Seconds

__all__ = ["Document", "Seconds"]
