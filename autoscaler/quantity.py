"""Kubernetes quantities and Prometheus durations.

All metric values are whole thousandths ("milli"), as in Kubernetes' metrics adapters. Source: k8s.io/apimachinery
`resource.Quantity`; prometheus.io/docs, "Time durations".
"""

import math
import re
from collections.abc import Iterable
from datetime import timedelta
from fractions import Fraction
from typing import Final, TypeAlias

from autoscaler.errors import QuantityError

Milli: TypeAlias = int
"""A value in whole thousandths of its unit: `Milli(1500)` is 1.5."""

MAX_MILLI: Final = 2**63 - 1
"""Kubernetes stores a quantity's thousandths in 63 bits."""

_SUFFIXES: Final[dict[str, tuple[int, int]]] = {  # suffix -> numerator, denominator of its multiplier
    "n": (1, 10**9),
    "u": (1, 10**6),
    "m": (1, 10**3),
    "": (1, 1),
    "k": (10**3, 1),
    "M": (10**6, 1),
    "G": (10**9, 1),
    "T": (10**12, 1),
    "P": (10**15, 1),
    "E": (10**18, 1),
    "Ki": (2**10, 1),
    "Mi": (2**20, 1),
    "Gi": (2**30, 1),
    "Ti": (2**40, 1),
    "Pi": (2**50, 1),
    "Ei": (2**60, 1),
}
_QUANTITY: Final = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d{1,3})|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei))?")
_MAX_CHARACTERS: Final = 1_000
"""Longest quantity. Python rejects numbers of more than 4,300 digits, and Kubernetes' have at most nineteen."""
_TOO_LARGE: Final = "its thousandths do not fit 63 bits; use a smaller unit"
_FORM: Final = 'expected a quantity such as 2, 0.5, "500m" or "1Gi"'

_DURATION: Final = re.compile(
    r"(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?", re.ASCII
)
_MILLISECOND: Final = timedelta(milliseconds=1)
_DURATION_UNITS_MS: Final = (31_536_000_000, 604_800_000, 86_400_000, 3_600_000, 60_000, 1_000, 1)
_DURATION_FORM: Final = "write numbers with units (y, w, d, h, m, s, ms), the largest first, as in 90s, 5m or 1h30m"


def parse_quantity(text: str | int | float) -> Milli:
    """Return the thousandths of a Kubernetes quantity, rounded up as in Kubernetes.

    Raises QuantityError for another form, or if the thousandths do not fit 63 bits.
    """
    exact = parse_exact(text)
    milli = math.ceil(abs(exact) * 1000)
    return -milli if exact < 0 else milli


def parse_exact(text: str | int | float) -> Fraction:
    """Return a Kubernetes quantity at full precision. Raises QuantityError as `parse_quantity` does."""
    if isinstance(text, int) and abs(text) > MAX_MILLI:
        raise QuantityError(f"a number this large is not a valid quantity: {_TOO_LARGE}")
    source = repr(text) if isinstance(text, float) else str(text)
    match = _QUANTITY.fullmatch(source.strip()) if source.isascii() and len(source) <= _MAX_CHARACTERS else None
    if match is None or isinstance(text, bool):
        raise QuantityError(f"{source[:64]!r} is not a valid quantity; {_FORM}")
    sign, number, exponent, suffix = match.groups()
    whole, _, fraction = number.partition(".")
    numerator, denominator = _SUFFIXES[suffix or ""]
    power = int(exponent or 0) - len(fraction)
    value = Fraction(int(whole + fraction or "0")) * Fraction(numerator, denominator) * Fraction(10) ** power
    if math.ceil(value * 1000) > MAX_MILLI:
        raise QuantityError(f"{source[:64]!r} is too large: {_TOO_LARGE}")
    return -value if sign == "-" else value


def format_quantity(milli: Milli) -> str:
    """Format a quantity as kubectl does: `37500m`, or `63` if it is whole."""
    whole, rest = divmod(milli, 1000)
    return str(whole) if rest == 0 else f"{milli}m"


def format_decimal(milli: Milli) -> str:
    """Format a quantity for readers, with two decimals: `8.33`, `37.5`; small values with three: `0.005`."""
    decimals = 2 if abs(milli) >= 100 else 3
    text = f"{milli / 1000:.{decimals}f}"
    return text.rstrip("0").rstrip(".")


def sum_of(values: Iterable[Milli]) -> Milli:
    """Return the sum, or the largest quantity if the sum is larger."""
    return min(sum(values), MAX_MILLI)


def parse_duration(text: str) -> timedelta:
    """Parse a duration in Prometheus' format (`1h30m`, `500ms`, `0`). Raises QuantityError for another form."""
    match = _DURATION.fullmatch(text)
    if text == "0":
        return timedelta(0)
    if not text or match is None:
        raise QuantityError(f"{text[:64]!r} is not a valid duration; {_DURATION_FORM}")
    try:
        parts = zip(match.groups(), _DURATION_UNITS_MS, strict=True)
        return timedelta(milliseconds=sum(int(count) * unit for count, unit in parts if count))
    except (OverflowError, ValueError):
        raise QuantityError(f"{text[:64]!r} is too long a duration; {_DURATION_FORM}") from None


def format_duration(duration: timedelta) -> str:
    """Format a duration in the shortest Prometheus form, to the millisecond: `1m30s`."""
    rest, part = divmod(duration, _MILLISECOND)  # a quotient of long durations, as a float, is off by some milliseconds
    rest += 2 * part >= _MILLISECOND
    if rest == 0:
        return "0s"
    text = ""
    for name, unit in zip(("y", "w", "d", "h", "m", "s", "ms"), _DURATION_UNITS_MS, strict=True):
        if name in ("y", "w"):  # days are easier to read than years and weeks
            continue
        count, rest = divmod(rest, unit)
        text += f"{count}{name}" if count else ""
    return text


def format_seconds(duration: timedelta | float) -> str:
    """Format a duration, or seconds, as `format_duration` does, to the second."""
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
    return format_duration(timedelta(seconds=round(seconds)))


_SECONDS: Final = {"y": 365 * 86_400, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_AGES: Final = (
    (120, "s", ""),
    (600, "m", "s"),
    (180 * 60, "m", ""),
    (8 * 3_600, "h", "m"),
    (48 * 3_600, "h", ""),
    (8 * 86_400, "d", "h"),
    (2 * 365 * 86_400, "d", ""),
    (8 * 365 * 86_400, "y", "d"),
    (math.inf, "y", ""),
)
"""The units of an age below each number of seconds. The page's times.js has the same table."""


def format_age(span: timedelta) -> str:
    """Format a time span as kubectl does, in at most two units: `45s`, `4m10s`, `3h`, `5d`.

    Source: k8s.io/apimachinery/pkg/util/duration, `HumanDuration`, which truncates. This rounds, because cycles are
    milliseconds early or late.
    """
    seconds = max(round(span.total_seconds()), 0)
    unit, finer = next((unit, finer) for below, unit, finer in _AGES if seconds < below)
    count, rest = divmod(seconds, _SECONDS[unit])
    more = rest // _SECONDS[finer] if finer else 0
    return f"{count}{unit}{more}{finer}" if more else f"{count}{unit}"


_SIZE: Final = re.compile(r"(\d{1,18})(B|[KMGTPE]i?B)")
_SIZE_FORM: Final = 'write it with a unit, as in "512MB" or "5GB" (B, KB, MB, GB, TB, PB, EB; 1KB is 1024 bytes)'


def parse_size(text: str) -> int:
    """Parse a size in the format of Prometheus' --storage.tsdb.retention.size: `512MB`, where 1KB is 1024B.

    Raises QuantityError for another form.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise QuantityError(f"{text[:64]!r} is not a valid size; {_SIZE_FORM}")
    return int(match[1]) << 10 * "BKMGTPE".index(match[2][0])


def format_size(size: int) -> str:
    """Format a size in the shortest form: `5GB`."""
    power = 0
    while size and size % 1024 == 0 and power < 6:
        size, power = size // 1024, power + 1
    return f"{size}{'BKMGTPE'[power]}{'B' if power else ''}"
