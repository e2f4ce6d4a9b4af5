"""What an autoscaler remembered at one of its decisions, from the decisions before it."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

from autoscaler.model import Autoscaler, Decision, History, Recommendation, ScaleEvent, Slot

_Entry = TypeVar("_Entry", Recommendation, ScaleEvent)
_OUTDATED: Final = Recommendation(0, datetime(1970, 1, 1, tzinfo=UTC))
"""Older than every window: it says that there were recommendations, which have no say any more."""


def lookback(scaler: Autoscaler) -> timedelta:
    """How far back anything remembered can still have a say: the longest window or policy's period."""
    longest, behavior = scaler.options.downscale_stabilization, scaler.behavior
    if behavior is None:
        return longest
    for rules in (behavior.scale_up, behavior.scale_down):
        window = rules.stabilization_window
        longest = max([longest, *([] if window is None else [window]), *[policy.period for policy in rules.policies]])
    return longest


def history(decisions: Sequence[Decision]) -> History:
    """What is remembered after the last of `decisions`, which are about one target, the oldest first.

    They reach back at least `lookback`: entries older than that are absent, and would change nothing.
    """
    last = decisions[-1]
    return History(
        recommendations=_entries(slot for made in decisions for slot in made.recommendations) or (_OUTDATED,),
        scale_ups=_entries(slot for made in decisions for slot in made.scale_ups),
        scale_downs=_entries(slot for made in decisions for slot in made.scale_downs),
        conditions=last.conditions,
        status=last.status,
        steering=last.steering,
    )


def _entries(slots: Iterable[Slot[_Entry]]) -> tuple[_Entry, ...]:
    """A slot that was written again holds what was written last."""
    kept: dict[int, _Entry] = {}
    for slot in slots:
        kept[slot.index] = slot.entry
    return tuple([kept[index] for index in sorted(kept)])
