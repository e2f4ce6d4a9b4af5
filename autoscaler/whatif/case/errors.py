"""What is wrong with a case."""

from autoscaler.errors import AutoscalerError


class CaseError(AutoscalerError):
    """A case cannot be written or read; the message names the file, the line, and what is wrong with it."""


def reason(error: Exception) -> object:
    """What the system says of a file, without its name, which the message has."""
    return getattr(error, "strerror", None) or error
