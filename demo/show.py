"""What the demo prints."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Self

from autoscaler.layout import local

_WORKERS_SHOWN: Final = 8
_QUIET_SECONDS: Final = 10.0
"""How often equal decisions are shown, in seconds."""
HEADER: Final = f"{'time':>5}  {'traffic':>7}  {'workers':<{_WORKERS_SHOWN}}  {'size':>4}  why"


@dataclass(frozen=True, slots=True)
class Moment:
    """One decision of the daemon, with its time and load."""

    seconds: float
    traffic: int
    current: int | None
    desired: int | None
    written: int | None
    failed: bool
    why: str

    @classmethod
    def of(cls, line: Mapping[str, Any], seconds: float, traffic: int) -> Self:
        """Return the decision of a line of the daemon's log."""
        return cls(
            seconds=seconds,
            traffic=traffic,
            current=line["current"],
            desired=line["desired"],
            written=line["written"],
            failed=line["level"] == "warning",
            why=line["why"],
        )

    def __str__(self) -> str:
        dots = "●" * (self.current or 0)
        size = "?" if self.current is None else str(self.current)
        why = local(self.why, datetime.now(UTC))
        return f"{clock(self.seconds):>5}  {self.traffic:>7}  {dots:<{_WORKERS_SHOWN}}  {size:>4}  {why}"


class Teller:
    """Prints decisions; equal ones only now and then. On a terminal in colour and within its width."""

    def __init__(self) -> None:
        self._last: Moment | None = None

    def tell(self, moment: Moment) -> None:
        """Print the decision, unless an equal one was just printed."""
        if self._last is not None and self._says_the_same(moment, self._last):
            return
        self._last = moment
        text = str(moment)
        if sys.stdout.isatty():
            width = shutil.get_terminal_size().columns
            text = text if len(text) <= width else text[: width - 1] + "…"
            text = f"\033[{_colour(moment)}m{text}\033[0m"
        print(text, flush=True)

    @staticmethod
    def _says_the_same(moment: Moment, last: Moment) -> bool:
        return moment.seconds - last.seconds < _QUIET_SECONDS and replace(moment, seconds=last.seconds) == last


def _colour(moment: Moment) -> str:
    """Return green for a scale-out, cyan for a scale-in, yellow for a failed decision, dim for the rest."""
    if moment.written is not None:
        return "1;32" if moment.written > (moment.current or 0) else "1;36"
    return "33" if moment.failed else "2"


@dataclass(frozen=True, slots=True)
class Summary:
    """What happened over the whole demo."""

    moments: Sequence[Moment]
    most_seen: float
    """The most workers that Prometheus saw up at the same time."""
    seen_last: float

    @property
    def scale_outs(self) -> list[Moment]:
        """Return the number of decisions that wrote a larger size."""
        return [m for m in self.moments if m.written is not None and m.written > (m.current or 0)]

    @property
    def scale_ins(self) -> list[Moment]:
        """Return the number of decisions that wrote a smaller size."""
        return [m for m in self.moments if m.written is not None and m.written < (m.current or 0)]

    @property
    def went_out_and_back(self) -> bool:
        """Return whether there were several workers and then one again, by the daemon's log and by Prometheus."""
        return (
            bool(self.scale_outs and self.scale_ins)
            and self.moments[-1].current == 1
            and self.most_seen > 1
            and self.seen_last == 1
        )

    def __str__(self) -> str:
        lines = ["", "What was written:", ""]
        moves = [m for m in self.moments if m.written is not None]
        lines += [f"{clock(m.seconds):>5}  {m.traffic:>7} in flight  {m.current} → {m.written}  {m.why}" for m in moves]
        sizes = [m.current for m in self.moments if m.current is not None]
        path = " → ".join(map(str, (size for at, size in enumerate(sizes) if at == 0 or sizes[at - 1] != size)))
        lines += [
            "",
            f"Sizes over time:       {path or 'none read'}",
            f"Decisions:             {len(self.moments)}",
            f"Scale-outs, scale-ins: {len(self.scale_outs)}, {len(self.scale_ins)}",
            f"Workers in Prometheus: {self.most_seen:.0f} at most, {self.seen_last:.0f} at the end",
        ]
        return "\n".join(lines)


def clock(seconds: float) -> str:
    """Return minutes and seconds: `1:05`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}"
