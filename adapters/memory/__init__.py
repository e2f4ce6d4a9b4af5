"""The reference: a back end that only remembers sizes. To try the daemon with, and to copy."""

from adapters.memory.adapter import Memory

__all__ = ["Memory"]
