"""One fuzzed reader: how an input is made, and which results are right. Any other exception is a defect."""

from abc import ABC, abstractmethod
from contextlib import ExitStack
from random import Random
from typing import Self


class Target(ABC):
    """One reader of foreign input, opened for a run."""

    def __init__(self) -> None:
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    @abstractmethod
    def make(self, random: Random) -> bytes:
        """Return an input."""

    @abstractmethod
    def read(self, given: bytes) -> bool:
        """Return whether the input was accepted; False: it was refused with a message. Raises for a defect."""


def check(fine: bool, otherwise: str) -> None:
    """Raise AssertionError with this text if it is not fine."""
    if not fine:
        raise AssertionError(otherwise)


def check_sentence(text: str) -> None:
    """Raise AssertionError if the text is no message."""
    check(bool(text) and len(text) < 10_000, f"not a message: {text[:100]!r}")
