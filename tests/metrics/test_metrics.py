"""Counters and timers of events."""

from pathlib import Path

import pytest

from autoscaler.config.grants import Grant
from autoscaler.config.settings import Settings
from autoscaler.errors import StateError, TargetForbidden, TargetNotFound, TargetRefused, TargetUnavailable
from autoscaler.metrics.grants import watch_grants
from autoscaler.metrics.watch import watch_discovery, watch_queries, watch_shards, watch_state
from autoscaler.model import (
    ConditionType,
    Conflict,
    Decision,
    Held,
    HoldReason,
    MetricType,
    Proposed,
    ShardName,
    TargetRef,
    Unchanged,
    Written,
)
from autoscaler.observe.asked_alone import Why
from autoscaler.observe.failure import QueryFailure
from autoscaler.record.values import StateSize
from tests.decisions import condition, cpu, decision, rescale
from tests.metrics.exposed import DISCOVERED, HEAVY, FakeShards, Shown

BOUNDS_CONFLICT = (condition(ConditionType.ABLE_TO_SCALE, "BoundsConflict", status=False),)


@pytest.mark.parametrize(
    ("made", "action", "error"),
    [
        (decision(), "none", "none"),
        (rescale(size=5, outcome=Written(5)), "scale_up", "none"),
        (rescale(size=1, outcome=Written(1)), "scale_down", "none"),
        (rescale(outcome=Proposed(5), dry_run=True), "none", "none"),
        (rescale(outcome=TargetUnavailable("down"), error="down"), "none", "internal"),
        (rescale(outcome=TargetRefused("above MaxSize"), error="above MaxSize"), "none", "spec"),
        (decision(current=None, error="down"), "none", "internal"),
        (decision(error="no size is allowed", conditions=BOUNDS_CONFLICT), "none", "spec"),
    ],
)
def test_a_reconciliation_is_counted_by_action_and_kind_of_error(made: Decision, action: str, error: str) -> None:
    """The labels are HPA's, so its dashboards and alerts apply. A dry run has written nothing."""
    shown = Shown()
    shown.ended(made)
    assert shown.value("reconciliations_total", action=action, error=error) == 1
    assert shown.value("reconciliation_duration_seconds_sum", action=action, error=error) == 0.2
    assert len(shown.series("reconciliations_total")) == 1


def test_autoscalers_without_a_decision_are_failed_reconciliations() -> None:
    """A state that cannot be written must not look like an idle daemon."""
    shown = Shown()
    shown.ended(broken={"web": StateError("disk full"), "api": KeyError("bug")})
    assert shown.value("reconciliations_total", action="none", error="internal") == 2


def test_a_metric_computation_is_counted_by_its_own_proposal() -> None:
    """One of two metrics may always want fewer."""
    shown = Shown()
    up = cpu()
    asked = [(5, None), (1, None), (3, None), (None, "no answer")]
    metrics = tuple(type(up)(up.name, up.type, up.target, proposal=size, error=error) for size, error in asked)
    shown.ended(decision(metrics=metrics))
    labels = [("scale_up", "none"), ("scale_down", "none"), ("none", "none"), ("none", "internal")]
    for action, error in labels:
        keys = {"action": action, "error": error, "metric_type": MetricType.RESOURCE.value}
        assert shown.value("metric_computation_total", **keys) == 1
        assert shown.value("metric_computation_duration_seconds_sum", **keys) == 0.1


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        (Written(5), "written"),
        (Unchanged(), "unchanged"),
        (Held(HoldReason("Refreshing", "an instance refresh")), "held"),
        (Conflict("changed by another client"), "conflict"),
        (Proposed(5), "proposed"),
        (TargetForbidden("no"), "failed"),
    ],
)
def test_writes_are_counted_by_outcome(outcome: object, word: str) -> None:
    """A group that another client keeps changing shows as conflicts."""
    shown = Shown()
    shown.ended(rescale(outcome=outcome))
    assert shown.value("writes_total", outcome=word) == 1


def test_a_cycle_is_timed_by_its_adapter() -> None:
    """Each connection has its own shard, and a slow back end must show."""
    shown = Shown()
    shown.ended()
    assert shown.value("tick_duration_seconds_sum", adapter="fleet") == 0.2
    assert shown.value("tick_lateness_seconds_sum", adapter="fleet") == 0.5


def test_queries_are_timed_and_their_failures_counted_by_source() -> None:
    """It shows which Prometheus is down."""
    shown = Shown()
    shown.metrics.queried("default", 0.25, None)
    shown.metrics.queried("default", 0.5, QueryFailure("no answer"))
    assert shown.value("query_duration_seconds_count", prometheus="default") == 2
    assert shown.value("query_duration_seconds_sum", prometheus="default") == 0.75
    assert shown.value("query_failures_total", prometheus="default") == 1


def test_adapter_failures_are_counted_by_target_and_remedy() -> None:
    """A forbidden call needs other credentials; an unavailable one needs time; a foreign exception is a bug."""
    shown = Shown()
    errors = [TargetForbidden("no"), TargetNotFound("gone"), TargetNotFound("gone too"), KeyError("bug")]
    shown.metrics.called("fleet", "observe", 0.25, errors)
    assert shown.value("adapter_call_duration_seconds_count", adapter="fleet", operation="observe") == 1
    for word, count in (("forbidden", 1), ("not_found", 2), ("bug", 1), ("unavailable", 0)):
        assert shown.value("adapter_failures_total", adapter="fleet", operation="observe", error=word) == count


def test_a_failure_counter_exists_before_the_first_failure() -> None:
    """rate() ignores the first failure of a series that begins with it."""
    shown = Shown()
    assert shown.value("query_failures_total", prometheus="default") == 0
    assert shown.value("adapter_failures_total", adapter="fleet", operation="scale", error="refused") == 0
    assert shown.value("config_reload_failures_total") == 0


def test_a_refused_reload_is_shown_until_one_succeeds() -> None:
    """The file differs from the running configuration; a restart would fail."""
    shown = Shown()
    started = shown.clock.now().timestamp()
    shown.clock.advance(60)
    shown.metrics.reload_failed(["autoscaler.yaml:1:1: it is wrong"])
    assert shown.value("config_last_reload_successful") == 0
    assert shown.value("config_last_reload_success_timestamp_seconds") == started
    assert shown.value("config_reload_failures_total") == 1
    shown.configure()
    assert shown.value("config_last_reload_successful") == 1
    assert shown.value("config_last_reload_success_timestamp_seconds") == started + 60
    assert shown.value("config_reload_failures_total") == 1


def test_series_of_removed_adapters_and_sources_are_removed() -> None:
    """Otherwise an alert on a removed connection would remain, and a late call would create the series again."""
    shown = Shown()
    shown.ended()
    shown.metrics.queried("default", 0.25, QueryFailure("no answer"))
    shown.metrics.called("fleet", "scale", 0.25, ())
    shown.metrics.configured((), ["swarm"], ["other"])
    shown.ended()
    shown.metrics.queried("default", 0.25, None)
    shown.metrics.called("fleet", "scale", 0.25, ())
    for name in ("tick_duration_seconds_count", "adapter_call_duration_seconds_count", "query_duration_seconds_count"):
        assert shown.series(name) == []
    assert shown.series("query_failures_total") == [{"prometheus": "other"}]
    assert {labels["adapter"] for labels in shown.series("adapter_failures_total")} == {"swarm"}


def test_missed_ticks_and_hung_shards_are_shown() -> None:
    """A hung call ends no cycle, so no other metric shows it."""
    shown = Shown()
    watch_shards(shown.registry, FakeShards([ShardName("fleet", 2, 4)]))
    assert shown.value("missed_ticks_total", adapter="fleet") == 3
    assert shown.value("shard_hung", adapter="fleet") == 1
    assert shown.value("shard_hung", adapter="swarm") == 0


def test_queries_that_are_asked_alone_are_counted_by_reason() -> None:
    shown, alone = Shown(), [HEAVY, HEAVY, HEAVY._replace(why=Why.REFUSED)]
    watch_queries(shown.registry, lambda: alone)
    assert shown.value("queries_asked_alone", prometheus="default", reason="heavy") == 2
    assert shown.value("queries_asked_alone", prometheus="default", reason="refused") == 1
    alone.clear()
    assert shown.series("queries_asked_alone") == []


def test_discovered_policies_and_failures_are_counted() -> None:
    """An alert on a growing number of refused policies, or on a lost right, needs them."""
    shown = Shown()
    watch_discovery(shown.registry, lambda: DISCOVERED)
    assert shown.value("policies_discovered", adapter="nomad", state="converted") == 2
    assert shown.value("policies_discovered", adapter="nomad", state="refused") == 1
    assert shown.value("discovery_failures", adapter="nomad") == 1


def test_the_size_of_the_state_is_queried_once_a_minute() -> None:
    """It costs queries, and several Prometheus servers may scrape."""
    shown, asked = Shown(), []

    def size() -> StateSize:
        asked.append(shown.clock.monotonic())
        return StateSize(4096 * len(asked))

    watch_state(shown.registry, size, shown.clock, lambda: True)
    assert [shown.value("state_size_bytes"), shown.value("state_size_bytes")] == [4096, 4096]
    shown.clock.advance(60)
    assert shown.value("state_size_bytes") == 8192


def test_an_unreadable_state_removes_only_its_own_series() -> None:
    """/metrics must show the outage."""
    shown = Shown()

    def size() -> StateSize:
        raise StateError("the database is gone")

    watch_state(shown.registry, size, shown.clock, lambda: True)
    assert shown.value("state_size_bytes") is None
    assert shown.value("build_info", version="1.2.3") == 1


def test_a_removed_adapter_gets_no_series() -> None:
    """A decision about a removed target counts, without a series of its adapter."""
    shown = Shown()
    shown.ended(decision("old", target=TargetRef("gone", "old")), shard=ShardName("gone"))
    assert shown.series("tick_duration_seconds_count") == []
    assert shown.value("reconciliations_total", action="none", error="none") == 1


def test_a_daemon_that_leads_no_more_shows_no_size_of_the_state_at_once() -> None:
    """Another one shows it by then. The value that was read last would be counted twice for a minute."""
    shown, leads = Shown(), [True]
    watch_state(shown.registry, lambda: StateSize(4096), shown.clock, lambda: bool(leads))
    assert shown.value("state_size_bytes") == 4096
    leads.clear()
    assert shown.value("state_size_bytes") is None
    leads.append(True)
    assert shown.value("state_size_bytes") == 4096


def test_a_standby_leaves_the_grants_to_the_leader() -> None:
    """A sum over all daemons would count each autoscaler of a team twice."""
    shown, known = Shown(), [Settings(Path("a.yaml"), {}, {}, (), grants={"shop": Grant("shop-", 4)})]
    watch_grants(shown.registry, lambda: known[0] if known else None)
    assert shown.value("grant_autoscalers", grant="shop") == 0
    known.clear()
    assert shown.series("grant_autoscalers") == shown.series("grant_refused") == []
