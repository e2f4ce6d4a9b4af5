"""The reference adapter: a back end that only remembers sizes. Use it to try the daemon, or copy it."""

from adapters.memory.adapter import Memory

__all__ = ["Memory"]
