"""The headline: the outcome of a decision and its reason in one line."""

from datetime import timedelta

import pytest

from autoscaler.decide import apply_outcome, decide, remember
from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    Direction,
    Failure,
    History,
    HpaMemory,
    ManualControls,
    Observation,
    Pause,
    Proposed,
    Recommendation,
    Written,
)
from autoscaler.record import Record
from autoscaler.rules.fallback import MetricFallback
from autoscaler.view.conclusion import conclusion
from tests.decide.build import CPU_60, NOW, samples, scaler, state
from tests.decide.outage import WithFallback, covered
from tests.replaced import replace

EARLIER = History(
    HpaMemory(
        (
            Recommendation(6, NOW - timedelta(minutes=3, milliseconds=-12)),
            Recommendation(4, NOW - timedelta(seconds=15)),
        )
    )
)


def headline(
    percent: int,
    size: int = 4,
    history: History = History(),  # noqa: B008 - it is frozen
    *,
    written: bool = False,
    dry_run: bool = False,
) -> str:
    """Return the headline of a cycle in which each instance uses this percentage of its request."""
    autoscaler = replace(scaler(CPU_60, minimum=2, maximum=10), dry_run=dry_run)
    observed = Observation(state(size), (samples([percent * 10] * size),))
    made = decide(autoscaler, observed, history, NOW)
    if made.change is not None and (written or dry_run):
        made = apply_outcome(made, (Proposed if dry_run else Written)(made.change.size))
    return conclusion(Record(autoscaler, made, observed, history))


def test_a_size_held_by_a_window_shows_the_recommendation_and_its_age() -> None:
    assert headline(20, history=EARLIER, size=6) == "stays at 6: a higher recommendation, 6, 3m ago"


def test_a_steady_size_shows_the_metric() -> None:
    assert headline(60) == "stays at 4: cpu asks for 4 (ratio within tolerance)"


@pytest.mark.parametrize(
    ("percent", "size", "said"),
    [
        (120, 10, "stays at 10: maxReplicas is 10, and 20 would be the size without it"),
        (6, 2, "stays at 2: minReplicas is 2, and 1 would be the size without it"),
    ],
)
def test_a_size_at_a_bound_shows_the_size_without_it(percent: int, size: int, said: str) -> None:
    """An operator sees whether to raise the bound."""
    history = History(HpaMemory((Recommendation(1, NOW - timedelta(seconds=15)),)))

    assert headline(percent, size, history) == said


def test_a_new_size_shows_its_reason() -> None:
    said = "was set from 4 to 8: cpu resource utilization (percentage of request) above target"

    assert headline(120, written=True) == said


def test_a_dry_run_says_that_it_writes_nothing() -> None:
    assert headline(120, dry_run=True).startswith("would go from 4 to 8, but a dry run writes nothing: cpu")


def test_a_pause_shows_its_user_and_the_size_it_prevents() -> None:
    pause = Pause(Direction.BOTH, "dana", "sale", NOW - timedelta(minutes=1), None)

    said = headline(120, history=replace(EARLIER, manual=ManualControls(pause)))

    assert said == "stays at 4, although 8 is wanted: paused by dana until it is resumed: sale"


def test_a_failed_metric_shows_its_error() -> None:
    """The error contains the remedy."""
    autoscaler, observed = scaler(CPU_60), Observation(state(4), (Failure("query cpu timed out"),))
    made = decide(autoscaler, observed, History(), NOW)

    said = conclusion(Record(autoscaler, made, observed, History()))

    assert said.startswith("stays at 4: 1 of 1 metrics failed")
    assert said.endswith("query cpu timed out")


def test_a_target_that_cannot_be_read_has_no_size() -> None:
    """The last known size may be wrong."""
    autoscaler, observed = scaler(CPU_60), Observation(TargetUnavailable("it did not answer"), (samples([]),))
    made = decide(autoscaler, observed, History(), NOW)

    assert conclusion(Record(autoscaler, made, observed, None)) == "the size could not be read: it did not answer"


def test_without_history_the_window_is_shown_without_a_recommendation() -> None:
    """Beyond state.detail the recommendation is unknown."""
    autoscaler, observed = scaler(CPU_60), Observation(state(6), (samples([200] * 6),))
    made = decide(autoscaler, observed, EARLIER, NOW)

    assert conclusion(Record(autoscaler, made, None, None)) == "stays at 6: highest recommendation of the last 5m"


def test_a_size_kept_by_a_fallback_shows_it() -> None:
    """The size is not the one that the load needs."""
    autoscaler = covered(WithFallback(CPU_60, MetricFallback(timedelta(seconds=30), 4)))
    observed, history = Observation(state(4), (Failure("no answer"),)), History()
    for seconds in (0, 30):
        now = NOW + timedelta(seconds=seconds)
        made = decide(autoscaler, observed, history, now)
        before, history = history, remember(autoscaler, history, made)
    said = conclusion(Record(autoscaler, made, observed, before))
    assert said == "stays at 4: the fallback of cpu asks for 4 (fallback: 4 replicas)"
