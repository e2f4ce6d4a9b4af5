"""The adapter of type `process`: it keeps pools of local worker processes. The demo uses it."""

from adapters.process.adapter import Process

__all__ = ["Process"]
