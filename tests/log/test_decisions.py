"""Which decisions are logged."""

import io
import json
from collections import Counter
from typing import Any

import pytest

from autoscaler.errors import TargetUnavailable
from autoscaler.log import line
from autoscaler.log.configure import Format, Level, configure
from autoscaler.log.decisions import MAX_FAILURES, MAX_NEWS, REPEAT_SECONDS, DecisionLog
from autoscaler.model import ConditionType, Conflict, Decision, Written
from autoscaler.target.contract.harness import RecordingLogger
from tests.clocks import FakeClock
from tests.decisions import bounds, condition, cpu, decision, rescale
from tests.replaced import replace

ACTIVE = condition(ConditionType.SCALING_ACTIVE, "FailedGetResourceMetric", status=False)
PERIOD = 15.0


def failing(name: str = "web", **changes: Any) -> Decision:
    """Return a decision whose metric failed."""
    return decision(name, desired=None, metrics=(cpu(None),), error="no answer", conditions=(ACTIVE,), **changes)


class Cycles:
    """A log of decisions, and the cycles that it is given."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.logger = RecordingLogger()
        self.log = DecisionLog(self.logger, self.clock)

    def cycle(self, *made: Decision, after: float = PERIOD) -> list[tuple[str, str, dict[str, Any]]]:
        """Return what is logged of a cycle."""
        self.clock.advance(after)
        self.logger.lines.clear()
        odd = dict[str, Exception]()
        self.log.cycle_ended(made, odd)
        assert not odd
        return list(self.logger.lines)


@pytest.fixture
def cycles() -> Cycles:
    return Cycles()


def test_an_unchanged_decision_is_logged_once(cycles: Cycles) -> None:
    """Otherwise a steady autoscaler would log four megabytes a day."""
    assert len(cycles.cycle(decision())) == 1
    assert cycles.cycle(decision(metrics=(cpu(62),))) == []


@pytest.mark.parametrize(
    "after",
    [
        decision(current=4),
        decision(desired=4),
        decision(bounds=bounds(1, 9)),
        decision(conditions=(ACTIVE,)),
        decision(metrics=(cpu(None),)),
    ],
)
def test_a_change_is_logged_at_once(cycles: Cycles, after: Decision) -> None:
    """It has no count."""
    cycles.cycle(decision())
    ((_, event, keys),) = cycles.cycle(after)
    assert (event, keys) == ("decision", line.keys(after))


@pytest.mark.parametrize("outcome", [Written(5), Conflict("now 7"), TargetUnavailable("no answer")])
def test_every_write_and_every_failed_write_is_logged(cycles: Cycles, outcome: Any) -> None:
    """The log is a complete record of writes."""
    made = rescale(outcome=outcome, error=None if isinstance(outcome, Written) else "not written")
    assert [len(cycles.cycle(made)) for _ in range(4)] == [1, 1, 1, 1]


def test_a_failure_is_logged_as_a_warning_in_each_cycle(cycles: Cycles) -> None:
    """Operators count warnings to see whether it has ended."""
    cycles.cycle(failing())
    ((level, _, keys),) = cycles.cycle(failing())
    assert (level, keys["repeated"]) == ("warning", 1)


def test_an_unchanged_decision_is_repeated_every_ten_minutes_with_a_count(cycles: Cycles) -> None:
    """The log shows that the autoscaler works; the counts add up to its decisions."""
    cycles.cycle(decision())
    told = [keys["repeated"] for _ in range(400) for _, _, keys in cycles.cycle(decision())]
    assert len(told) == 10
    assert told[1:] == [REPEAT_SECONDS / PERIOD] * 9
    assert 1 <= told[0] <= REPEAT_SECONDS / PERIOD


def test_repetitions_of_many_autoscalers_are_spread_evenly(cycles: Cycles) -> None:
    fleet = [decision(f"web-{number}") for number in range(1_000)]
    cycles.cycle(*fleet)
    often = [len(cycles.cycle(*fleet)) for _ in range(40)]
    assert sum(often) == len(fleet)
    assert max(often) < 2 * len(fleet) * PERIOD / REPEAT_SECONDS


def test_the_start_of_more_than_a_thousand_is_one_line(cycles: Cycles) -> None:
    """Journald would drop some of 10,000 lines. A write still has its own line."""
    fleet = [decision(f"web-{number}") for number in range(MAX_NEWS + 1)]
    written, (level, event, keys) = cycles.cycle(rescale("job", outcome=Written(5)), *fleet)
    assert written[2]["autoscaler"] == "job"
    assert (level, event) == ("info", "decisions")
    assert (keys["adapter"], keys["autoscalers"], keys["failed"]) == ("fleet", MAX_NEWS + 1, 0)
    assert keys["reasons"] == {"ReadyForNewScale": MAX_NEWS + 1}


def test_the_start_of_a_thousand_is_a_thousand_lines(cycles: Cycles) -> None:
    """The limit counts the lines of all connections."""
    assert len(cycles.cycle(*[decision(f"a-{number}") for number in range(600)])) == 600
    assert len(cycles.cycle(*[decision(f"b-{number}") for number in range(400)], after=0)) == 400
    assert len(cycles.cycle(*[decision(f"c-{number}") for number in range(600)], after=0)) == 1


def test_an_autoscaler_that_a_reload_adds_is_logged(cycles: Cycles) -> None:
    cycles.cycle(decision("web"), decision("job"))
    cycles.log.follow({"web"})
    assert [keys["autoscaler"] for _, _, keys in cycles.cycle(decision("web"), decision("job"))] == ["job"]


def test_an_outage_of_many_autoscalers_is_one_warning_for_each_cycle(cycles: Cycles) -> None:
    """It has the reasons, lasts as long as the outage, and does not flood the log."""
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


def test_a_new_failure_during_an_outage_has_its_own_line(cycles: Cycles) -> None:
    """Changes and repetitions have separate limits."""
    crowd = [failing(f"web-{number}") for number in range(2 * MAX_FAILURES)]
    cycles.cycle(decision("job"), *crowd)
    *_, (_, event, _) = cycles.cycle(decision("job"), *crowd)
    assert event == "decisions"
    told = cycles.cycle(failing("job"), *crowd)
    assert "job" in [keys.get("autoscaler") for _, _, keys in told]


def test_a_long_outage_stays_below_the_rate_limit_of_journald(cycles: Cycles) -> None:
    """Each autoscaler has one line in ten minutes, and the outage one in each cycle."""
    fleet = [failing(f"web-{number}") for number in range(1_200)]
    often = [len(cycles.cycle(*fleet)) for _ in range(80)]
    assert max(often) <= 1 + 2 * len(fleet) * PERIOD / REPEAT_SECONDS
    assert sum(often) == pytest.approx(2 * len(fleet) + 80, rel=0.02)


def test_a_decision_that_is_not_logged_is_not_formatted(cycles: Cycles, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 10,000 autoscalers formatting is most of the log's cost."""
    cycles.cycle(decision())
    monkeypatch.setattr(line, "keys", lambda _: pytest.fail("a line's keys were made"))
    cycles.cycle(decision(metrics=(cpu(61),)))


def test_with_all_each_decision_is_logged(cycles: Cycles) -> None:
    """After a change back to `changed`, the same decision is not logged again."""
    cycles.log.every = True
    for _ in range(3):
        ((_, _, keys),) = cycles.cycle(decision())
        assert "repeated" not in keys
    cycles.log.every = False
    assert cycles.cycle(decision(), after=0) == []


def test_a_metric_that_crosses_its_tolerance_is_not_logged(cycles: Cycles) -> None:
    """The window keeps the size, so nothing changes."""
    held = condition(ConditionType.ABLE_TO_SCALE, "ScaleDownStabilized")
    cycles.cycle(decision())
    turned = replace(decision(), conditions=(held, *decision().conditions[1:]))
    assert cycles.cycle(turned) == []
    assert cycles.cycle(decision()) == []


def test_a_write_is_logged_at_the_level_warning_as_info() -> None:
    """The record of writes stays complete."""
    out = io.StringIO()
    log = configure(Level.WARNING, Format.JSON, out)
    for made in (rescale(outcome=Written(5)), decision(), failing()):
        line.log(log, made)
    told = [json.loads(text) for text in out.getvalue().splitlines()]
    assert [(each["level"], each["written"]) for each in told] == [("info", 5), ("warning", None)]


def test_an_adapters_key_does_not_change_the_level() -> None:
    out = io.StringIO()
    configure(Level.INFO, Format.JSON, out).warning("odd", level="fine")
    assert json.loads(out.getvalue())["level"] == "warning"
