"""What is known of an expression while it is proven."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


class Unproven(Exception):  # it never leaves this package
    """The merged answer is not known to equal the single ones. Its text goes on from "as written: "."""


@dataclass(frozen=True, slots=True)
class Constant:
    """An expression in which nothing varies: the same for every member."""

    scalar: bool


@dataclass(frozen=True, slots=True)
class Tagged:
    """An expression that was written for one value and, merged, answers for many.

    The promise: each of its merged samples carries every label that varies. Those with one member's values, as often
    and in the order in which they stand there, are what the expression written for it gives, once the labels are taken
    off that are not `kept`.
    """

    kept: Mapping[str, bool]
    """Each label that varies, and whether the samples of the expression as written carry it."""
    others: frozenset[str] | None = None
    """All labels that samples of the expression as written may carry; None: any."""
    fallback: bool = False
    """Whether one more sample, without labels, is a member's answer when it has no other."""


Found: TypeAlias = Constant | Tagged
