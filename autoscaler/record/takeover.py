"""A state of schema version 1 becomes one of this version, in a new file."""

from sqlalchemy import URL


def take_over(url: URL) -> None:
    """Placeholder"""
