"""Series with every kind of label value, as history for a real Prometheus."""

import random
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

NOW: Final = datetime(2025, 6, 1, 12, tzinfo=UTC)
# fmt: off
GROUPS: Final = (
    "web", "web-1", "w", "a.b", "aXb", "a+b", "x|y", "x", "y", "(", "^$", "[a]", "{1}", ".*", "*", "?", "q'\"`", "\\",
    "back\\slash", "\\d", "é日本", "😀", " sp ace ", "#c", "10.0.0.1:80", "%s", "$1", "true", '{asg="web"}',
)
# fmt: on
GHOST: Final = "nobody"
"""A group without series."""
ENVIRONMENTS: Final = ("prod", "test")


def history() -> Mapping[str, Iterator[tuple[datetime, float]]]:
    """Return ten minutes of `req`, `cap` and `lat_bucket`.

    Some groups lack some, and some series lack the label `asg`.
    """
    chance = random.Random(7)
    found: dict[str, Iterator[tuple[datetime, float]]] = {}
    for group in (*GROUPS, None):
        for env in ENVIRONMENTS if chance.random() < 0.6 else ENVIRONMENTS[:1]:
            base = {"env": env} | ({} if group is None else {"asg": group})
            for number in range(chance.randint(1, 3)):
                for code in ("200", "500"):
                    found[_series("req", base | {"instance": f"i-{number}", "code": code})] = _samples(chance)
                if chance.random() < 0.8:
                    found[_series("cap", base | {"instance": f"i-{number}"})] = _samples(chance)
            for le in ("0.1", "1", "+Inf"):
                found[_series("lat_bucket", base | {"le": le})] = _samples(chance)
    return found


def _series(name: str, labels: Mapping[str, str]) -> str:
    written = (
        f'{label}="{value}"'
        for label, value in ((label, value.replace("\\", r"\\").replace('"', r"\"")) for label, value in labels.items())
    )
    return f"{name}{{{','.join(written)}}}"


def _samples(chance: random.Random) -> Iterator[tuple[datetime, float]]:
    """Return samples every 15 s. One series in ten ended long ago, and one in ten has a NaN or an infinity."""
    ended = 7 if chance.random() < 0.1 else 0
    odd = chance.choice([float("nan"), float("inf")]) if chance.random() < 0.1 else None
    value = chance.uniform(0, 5)
    samples = []
    for step in range(41):
        value = max(value + chance.uniform(-1, 2), 0.0) if chance.random() < 0.9 else 0.0
        at = NOW - timedelta(minutes=ended, seconds=15 * (40 - step) + 1)
        samples.append((at, odd if odd is not None and step == 39 else value))
    return iter(samples)
