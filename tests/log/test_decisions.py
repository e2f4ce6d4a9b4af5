"""Which decisions get a line."""

import io
import json
from collections import Counter
from typing import Any

import pytest

from autoscaler.errors import TargetUnavailable
from autoscaler.log import Format, Level, configure, line
from autoscaler.log.decisions import MOST_FAILURES, MOST_NEWS, REPEAT_SECONDS, DecisionLog
from autoscaler.model import ConditionType, Conflict, Decision, Written
from autoscaler.target.contract.harness import RecordingLogger
from tests.decisions import condition, cpu, decision, rescale
from tests.documents.lives import At
from tests.log.test_configure import restored
from tests.replaced import replace

__all__ = ["restored"]

ACTIVE = condition(ConditionType.SCALING_ACTIVE, "FailedGetResourceMetric", status=False)
PERIOD = 15.0


def failing(name: str = "web", **changes: Any) -> Decision:
    """One without a metric."""
    return decision(name, desired=None, metrics=(cpu(None),), error="no answer", conditions=(ACTIVE,), **changes)


class Cycles:
    """A log, and the cycles that it hears of."""

    def __init__(self) -> None:
        self.clock = At()
        self.logger = RecordingLogger()
        self.log = DecisionLog(self.logger, self.clock)

    def cycle(self, *made: Decision, after: float = PERIOD) -> list[tuple[str, str, dict[str, Any]]]:
        """What is logged of a cycle."""
        self.clock.seconds += after
        self.logger.lines.clear()
        odd = dict[str, Exception]()
        self.log.cycle_ended(made, odd)
        assert not odd
        return list(self.logger.lines)


@pytest.fixture
def cycles() -> Cycles:
    return Cycles()


def test_what_stays_as_it_was_is_said_once(cycles: Cycles) -> None:
    """A day of a calm autoscaler is not four megabytes."""
    assert len(cycles.cycle(decision())) == 1
    assert cycles.cycle(decision(metrics=(cpu(62),))) == []


@pytest.mark.parametrize(
    "after",
    [
        decision(current=4),
        decision(desired=4),
        decision(maximum=9),
        decision(conditions=(ACTIVE,)),
        decision(metrics=(cpu(None),)),
    ],
)
def test_a_change_is_said_at_once(cycles: Cycles, after: Decision) -> None:
    """Without a count: it is news."""
    cycles.cycle(decision())
    ((_, event, keys),) = cycles.cycle(after)
    assert (event, keys) == ("decision", line.keys(after))


@pytest.mark.parametrize("outcome", [Written(5), Conflict("now 7"), TargetUnavailable("no answer")])
def test_every_write_and_every_failure_is_said_each_time(cycles: Cycles, outcome: Any) -> None:
    """The record of what was done to the back end has no gap."""
    made = rescale(outcome=outcome, error=None if isinstance(outcome, Written) else "not written")
    assert [len(cycles.cycle(made)) for _ in range(4)] == [1, 1, 1, 1]


def test_a_failure_that_goes_on_is_said_each_cycle_as_a_warning(cycles: Cycles) -> None:
    """Whoever counts warnings sees that it has not ended."""
    cycles.cycle(failing())
    ((level, _, keys),) = cycles.cycle(failing())
    assert (level, keys["repeated"]) == ("warning", 1)


def test_a_calm_autoscaler_is_said_every_ten_minutes_with_how_often_it_was_so(cycles: Cycles) -> None:
    """The log alone shows that it is alive; the counts add up to its decisions."""
    cycles.cycle(decision())
    told = [keys["repeated"] for _ in range(400) for _, _, keys in cycles.cycle(decision())]
    assert len(told) == 10
    assert told[1:] == [REPEAT_SECONDS / PERIOD] * 9
    assert 1 <= told[0] <= REPEAT_SECONDS / PERIOD


def test_those_lines_of_many_never_come_at_once(cycles: Cycles) -> None:
    """However they were started: an even share in each cycle."""
    fleet = [decision(f"web-{number}") for number in range(4_000)]
    cycles.cycle(*fleet)
    often = [len(cycles.cycle(*fleet)) for _ in range(40)]
    assert sum(often) == len(fleet)
    assert max(often) < 2 * len(fleet) * PERIOD / REPEAT_SECONDS


def test_a_start_with_many_is_one_line(cycles: Cycles) -> None:
    """Of 10,000 lines at once journald would drop some; a write has its own all the same."""
    fleet = [decision(f"web-{number}") for number in range(MOST_NEWS + 1)]
    written, (level, event, keys) = cycles.cycle(rescale("job", outcome=Written(5)), *fleet)
    assert written[2]["autoscaler"] == "job"
    assert (level, event) == ("info", "decisions")
    assert (keys["adapter"], keys["autoscalers"], keys["failed"]) == ("fleet", MOST_NEWS + 1, 0)
    assert keys["reasons"] == {"ReadyForNewScale": MOST_NEWS + 1}


def test_a_start_with_a_thousand_is_a_thousand_lines(cycles: Cycles) -> None:
    """Also where they come connection by connection; of the next there is one."""
    assert len(cycles.cycle(*[decision(f"a-{number}") for number in range(600)])) == 600
    assert len(cycles.cycle(*[decision(f"b-{number}") for number in range(400)], after=0)) == 400
    assert len(cycles.cycle(*[decision(f"c-{number}") for number in range(600)], after=0)) == 1


def test_those_that_a_reload_adds_are_first_ones(cycles: Cycles) -> None:
    """What left the configuration and comes back begins anew."""
    cycles.cycle(decision("web"), decision("job"))
    cycles.log.follow({"web"})
    assert [keys["autoscaler"] for _, _, keys in cycles.cycle(decision("web"), decision("job"))] == ["job"]


def test_an_outage_of_many_is_one_warning_a_cycle_that_says_why(cycles: Cycles) -> None:
    """One dead Prometheus behind thousands floods nothing, and is in the log as long as it lasts."""
    fleet = [decision(f"web-{number}") for number in range(2_000)]
    cycles.cycle(*fleet)
    down = [failing(made.name) for made in fleet]
    for _ in range(4):
        told = cycles.cycle(*down)
        events = Counter((level, event) for level, event, _ in told)
        assert events["warning", "decisions"] == 1
        assert len(told) < 200, "beside it the lines that are due"
        keys = told[-1][2]
        assert keys["failed"] == keys["autoscalers"] >= 1_900
        assert keys["reasons"] == {"FailedGetResourceMetric": keys["autoscalers"]}
        assert keys["messages"] == ["because of FailedGetResourceMetric"]
        assert len(keys["names"]) == 5
    (_, _, keys) = cycles.cycle(*fleet)[-1]
    assert keys["failed"] == 0, "it is over"


def test_a_failure_beside_an_outage_begins_and_ends_with_a_line_of_its_own(cycles: Cycles) -> None:
    """News and what goes on as before have allowances of their own."""
    crowd = [failing(f"web-{number}") for number in range(2 * MOST_FAILURES)]
    cycles.cycle(decision("job"), *crowd)
    *_, (_, event, _) = cycles.cycle(decision("job"), *crowd)
    assert event == "decisions"
    told = cycles.cycle(failing("job"), *crowd)
    assert "job" in [keys.get("autoscaler") for _, _, keys in told]


def test_a_long_outage_stays_far_below_what_journald_takes(cycles: Cycles) -> None:
    """Each autoscaler has its line every ten minutes, and the outage one a cycle."""
    fleet = [failing(f"web-{number}") for number in range(2_000)]
    often = [len(cycles.cycle(*fleet)) for _ in range(80)]
    assert max(often) <= 1 + 2 * len(fleet) * PERIOD / REPEAT_SECONDS
    assert sum(often) == pytest.approx(2 * len(fleet) + 80, rel=0.02)


def test_what_is_not_said_is_not_put_into_words(cycles: Cycles, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 10,000 autoscalers the words are what the log costs."""
    cycles.cycle(decision())
    monkeypatch.setattr(line, "keys", lambda _: pytest.fail("a line's keys were made"))
    cycles.cycle(decision(metrics=(cpu(61),)))


def test_all_is_a_line_for_each(cycles: Cycles) -> None:
    """Without counts, and no more than that when it is switched back."""
    cycles.log.every = True
    for _ in range(3):
        ((_, _, keys),) = cycles.cycle(decision())
        assert "repeated" not in keys
    cycles.log.every = False
    assert cycles.cycle(decision(), after=0) == []


def test_a_metric_that_moves_around_its_tolerance_is_not_said(cycles: Cycles) -> None:
    """The window holds the size every other cycle: nothing comes of it."""
    held = condition(ConditionType.ABLE_TO_SCALE, "ScaleDownStabilized")
    cycles.cycle(decision())
    turned = replace(decision(), conditions=(held, *decision().conditions[1:]))
    assert cycles.cycle(turned) == []
    assert cycles.cycle(decision()) == []


def test_a_write_passes_the_level_warning_and_is_no_warning() -> None:
    """Who wants to hear only of what needs a look still has the record of what was done."""
    out = io.StringIO()
    log = configure(Level.WARNING, Format.JSON, out)
    for made in (rescale(outcome=Written(5)), decision(), failing()):
        line.log(log, made)
    told = [json.loads(text) for text in out.getvalue().splitlines()]
    assert [(each["level"], each["written"]) for each in told] == [("info", 5), ("warning", None)]


def test_only_our_own_words_are_levels() -> None:
    """An adapter's key of that name does not make one up."""
    out = io.StringIO()
    configure(Level.INFO, Format.JSON, out).warning("odd", level="fine")
    assert json.loads(out.getvalue())["level"] == "warning"
