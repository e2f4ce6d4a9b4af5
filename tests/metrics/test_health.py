"""The health of the servers that the daemon talks to."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel

from autoscaler.config.grants import Grant
from autoscaler.config.settings import AdapterSection, PrometheusSource, Settings
from autoscaler.errors import TargetDeferred, TargetError, TargetNotFound, TargetUnavailable
from autoscaler.metrics.health import Health
from autoscaler.model import ShardName
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.plan import Question
from autoscaler.observe.planner.outcome import Outcome
from autoscaler.observe.queries import AskedAlone
from autoscaler.view.level import Level
from autoscaler.view.status import ConnectionStatus, DaemonStatus, SourceStatus
from tests.clocks import FakeClock
from tests.decisions import NOW
from tests.metrics.exposed import HEAVY, WRONG, FakeShards

DOWN = TargetUnavailable("the back end did not answer")
REFUSED = QueryFailure("prometheus 'default' at http://localhost:9090: connection refused")


class NoSettings(BaseModel):
    """Settings of an adapter without any."""


@dataclass
class Known:
    """The daemon of one source and one connection."""

    hanging: Sequence[ShardName] = ()
    shards: int = 1
    clock: FakeClock = field(default_factory=FakeClock)
    alone: Sequence[AskedAlone] = ()
    health: Health = field(init=False)

    def __post_init__(self) -> None:
        self.health = Health(self.clock)

    @property
    def status(self) -> DaemonStatus:
        adapters = {"fleet": AdapterSection("memory", NoSettings(), shards=self.shards)}
        settings = Settings(Path("a.yaml"), {"default": PrometheusSource("http://localhost:9090")}, adapters, ())
        return self.health.status(settings, FakeShards(self.hanging), "1.2.3", NOW, alone=self.alone)

    @property
    def source(self) -> SourceStatus:
        return self.status.sources[0]

    @property
    def connection(self) -> ConnectionStatus:
        return self.status.connections[0]


def test_nothing_is_wrong_before_anything_was_asked() -> None:
    """A daemon that has just started has no outage."""
    status = Known().status

    assert (status.level, status.problems) == (Level.NORMAL, ())
    assert status.sources[0].last_success is None


@pytest.mark.parametrize(
    ("failure", "level"),
    [
        (REFUSED, Level.ERROR),
        (QueryFailure("did not answer within 5 s", outcome=Outcome.LATE), Level.ERROR),
        (QueryFailure("parse error", outcome=Outcome.REFUSED, answered=True), Level.NORMAL),
    ],
    ids=["refused connection", "no answer in time", "an invalid query"],
)
def test_a_prometheus_that_never_answered_fails_at_once(failure: QueryFailure, level: Level) -> None:
    """A wrong port shows within the first minute. The error of a query is an answer."""
    known = Known()
    known.health.queried("default", failure)

    failed = level is Level.ERROR
    assert (known.source.level, known.source.last_success is None) == (level, failed)
    assert known.source.error == (failure.message if failed else None)
    assert known.status.problems == (("prometheus default does not answer",) if failed else ())


def test_one_failed_query_is_no_outage() -> None:
    """The next cycle asks again."""
    known = Known()
    known.health.queried("default", None)
    known.clock.advance(15)
    known.health.queried("default", REFUSED)

    levels = [known.source.level]
    known.clock.advance(16)
    levels.append(known.source.level)
    known.health.queried("default", None)
    levels.append(known.source.level)

    assert levels == [Level.NORMAL, Level.ERROR, Level.NORMAL]
    assert known.source.error == str(REFUSED), "what was wrong last can still be read"


def test_a_refused_file_or_policy_of_a_grant_is_a_warning() -> None:
    """At most twenty problems are listed, with the number of all."""
    grants, known = {"shop": Grant("shop-", 4), "pay": Grant("pay-", 4)}, Known()
    settings = Settings(Path("a.yaml"), {}, {}, (), grants=grants, owners={"pay-api": "pay"})
    wrong = replace(settings, refused={"shop": (WRONG,) * 21})

    status = known.health.status(wrong, FakeShards(), "1.2.3", NOW)

    assert known.health.status(settings, FakeShards(), "1.2.3", NOW).level is Level.NORMAL
    assert (status.level, status.problems) == (Level.WARNING, ("21 files or autoscalers of team shop are refused",))
    assert [(each.name, each.autoscalers, each.refused) for each in status.grants] == [("pay", 1, 0), ("shop", 0, 21)]
    assert status.grants[1].problems == ("shop.yaml:1:1: the file is empty; write a list",) * 20


def test_a_source_lists_the_queries_that_are_sent_alone() -> None:
    """At most twenty are listed, with the number of all."""
    known = Known()
    known.alone = [HEAVY, HEAVY._replace(question=Question("other", "load")), *[HEAVY] * 29]
    assert (known.source.queries_alone, len(known.source.asked_alone)) == (30, 20)
    first = known.source.asked_alone[0]
    assert (first.query, first.reason, first.autoscalers) == ("load", "heavy", ("web",))


@pytest.mark.parametrize(
    ("errors", "level", "error"),
    [
        ([TargetNotFound("no group web")], Level.NORMAL, None),
        ([DOWN], Level.NORMAL, str(DOWN)),
        ([DOWN] * 3, Level.ERROR, str(DOWN)),
    ],
    ids=["a missing target", "one of three targets", "every target"],
)
def test_a_back_end_fails_if_it_answers_for_no_target(
    errors: Sequence[TargetError], level: Level, error: str | None
) -> None:
    """The failure of one target is kept for the page. An outage is reported once, not for each autoscaler."""
    known = Known()
    known.health.called("fleet", 3, errors)

    assert (known.connection.level, known.connection.error) == (level, error)
    assert (known.connection.last_success is None) == (level is Level.ERROR)
    assert known.status.problems == (("connection fleet fails",) if level is Level.ERROR else ())


def test_an_unexpected_exception_is_shown_without_its_message() -> None:
    """Its message may contain a password; its class and place do not."""
    known = Known()
    known.health.called("fleet", 1, [ValueError("https://u:geheim@h is wrong")])

    assert "ValueError" in (known.connection.error or "")
    assert "geheim" not in (known.connection.error or "")


def test_a_deferred_write_does_not_count() -> None:
    """Nothing was sent, so it is neither an answer nor a failure."""
    known = Known()
    known.health.called("fleet", 1, [TargetDeferred("no time was left")])

    assert (known.connection.last_success, known.connection.last_failure) == (None, None)


def test_a_shard_that_hangs_is_a_warning_and_all_of_them_an_error() -> None:
    """With several shards, the others continue."""
    known = Known([ShardName("fleet", 1, 2)], shards=2)
    known.health.called("fleet", 1, ())

    assert (known.connection.level, known.connection.hung, known.connection.shards) == (Level.WARNING, 1, 2)
    assert known.status.problems == ("connection fleet hangs in 1 of 2 shards",)
    known.hanging, known.shards = [ShardName("fleet")], 1
    assert known.connection.level is Level.ERROR
    assert known.status.problems == ("connection fleet hangs",)


def test_missed_ticks_and_superseded_shards_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Known()
    assert (known.connection.missed_ticks, known.connection.superseded) == (3, 1)
    monkeypatch.setattr(FakeShards, "superseded", lambda _: {})  # it has only connections with a superseded shard
    assert known.connection.superseded == 0


def test_the_last_cycle_is_the_oldest_of_all_shards() -> None:
    """Otherwise a hung shard would be invisible. Cycles from before a reload do not count."""
    known = Known()
    first, second = (ShardName("fleet", number, 2) for number in (1, 2))
    for shard in (first, second, second):
        known.health.cycle_ended(shard)
        known.clock.advance(1)
    assert known.connection.last_cycle == NOW
    known.health.serves(["fleet"])
    known.health.cycle_ended(second)
    assert known.connection.last_cycle == NOW + timedelta(seconds=3)


def test_a_refused_reload_is_shown_until_one_succeeds() -> None:
    """The previous configuration stays in force, which otherwise looks normal."""
    known = Known()
    known.health.reload_failed(["a.yaml:3:1: it is wrong", "a.yaml:4:1: this too"])

    reload = known.status.last_reload
    assert (reload.successful, reload.problem, reload.problems) == (False, "a.yaml:3:1: it is wrong", 2)
    assert (known.status.level, len(known.status.problems)) == (Level.WARNING, 1)
    known.health.configured(["fleet"], ["default"])
    assert known.status.last_reload.successful
    assert known.status.problems == ()


def test_the_health_of_removed_servers_is_forgotten() -> None:
    """A source that returns under its old name starts again."""
    known = Known()
    known.health.queried("default", REFUSED)

    known.health.configured([], [])

    assert (known.source.level, known.source.error) == (Level.NORMAL, None)


def test_a_daemon_that_serves_nothing_any_more_has_no_outage() -> None:
    """It stands by, and asks no server again: its last failure would be shown for ever."""
    known = Known()
    known.health.queried("default", REFUSED)
    known.health.called("fleet", 1, [TargetUnavailable("down")])
    assert known.status.level is Level.ERROR

    known.health.serves([])

    assert (known.status.level, known.status.problems) == (Level.NORMAL, ())


def test_an_error_whose_message_raises_is_shown() -> None:
    """An adapter may raise its own class, whose message may run any code."""

    class Odd(TargetUnavailable):
        def __str__(self) -> str:
            raise RuntimeError("no message")

    known = Known()
    known.health.called("fleet", 2, [Odd("x"), DOWN])

    assert known.connection.error == "Odd, which has no message; report it to the adapter's author"


def test_a_target_with_a_warning_is_a_problem() -> None:
    """Workers that are never ready must not be called "All well"."""
    known = Known()
    known.health = Health(known.clock, lambda: {"web": "no worker is ready", "api": "workers end"})
    assert (known.status.level, known.status.problems) == (
        Level.WARNING,
        ("the target of api has a warning: workers end; 1 more target has warnings",),
    )
