"""What an autoscaler remembered at one of its decisions, from the decisions before it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from autoscaler.decide import remember
from autoscaler.model import Autoscaler, Decision, History, Recommendation

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


def history(scaler: Autoscaler, decisions: Sequence[Decision]) -> History:
    """What is remembered after the last of `decisions`, which are about one target, the oldest first.

    They reach back at least `lookback`: entries older than that are absent, and would change nothing.
    """
    known = History(recommendations=(_OUTDATED,))
    for made in decisions:
        known = remember(scaler, known, made)
    return replace(known, steering=decisions[-1].steering)
