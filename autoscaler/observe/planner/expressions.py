"""What the proof knows of an expression."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


class Unproven(Exception):  # used inside this package only
    """The merged answer may differ from the single ones. The text continues "as written: "."""


@dataclass(frozen=True, slots=True)
class Constant:
    """An expression in which nothing varies, the same for every member."""

    scalar: bool


@dataclass(frozen=True, slots=True)
class Varying:
    """An expression written for one value that, merged, answers for many.

    Invariant: each merged sample carries every label that varies. The samples with one member's values, in number and
    order, are the result of that member's own expression, once the labels that are not `kept` are removed.
    """

    kept: Mapping[str, bool]
    """Each label that varies, and whether samples of the expression as written carry it."""
    fallback: bool = False
    """Whether one more sample, without labels, answers members without another sample."""


Found: TypeAlias = Constant | Varying
