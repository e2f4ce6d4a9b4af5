"""Local worker processes: the embedded default, and the back end of the demo."""

from adapters.process.adapter import Process

__all__ = ["Process"]
