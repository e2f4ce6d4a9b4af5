"""What a test may expect, and what is said where it is not met."""

from typing import Any

from tests.scenarios.building import Project, per_instance


def test_a_size_at_a_time_counts_from_the_cycle_at_that_time(project: Project) -> None:
    """The size doubles in a cycle at most."""
    expect = [{"at": "0", "size": 4}, {"at": "14s", "size": 4}, {"at": "08:00:15", "size": 8}]
    project.passes(*expect, subject={"values": {"queue": "80"}})


def test_a_size_that_is_reached_within_a_time(project: Project) -> None:
    project.passes({"at": "0", "within": "1m", "size": 10}, subject={"values": {"queue": "100"}})
    assert project.fails({"at": "0", "within": "30s", "size": 11}, subject={"values": {"queue": "100"}}).endswith(
        "web at 2026-11-23 08:00:30 UTC: expected size 11 within 30s of 2026-11-23 08:00:00 UTC, got size 10"
    )


def test_always_and_never_hold_between_two_times(project: Project) -> None:
    falling = {"replicas": 4, "values": {"queue": "40x4 10"}}
    project.passes(
        {"always": "size = 4", "to": "9m59s"},
        {"never": "size < 4", "to": "9m59s"},
        {"at": "11m", "size": 1},
        subject=falling,
    )
    assert project.fails({"never": "size < 4", "from": "8m", "to": "11m"}, subject=falling).endswith(
        "web at 2026-11-23 08:10:00 UTC: expected never size < 4, got 1"
    )
    assert project.fails({"always": "size >= 4"}, subject=falling, duration="20m").endswith(
        "web at 2026-11-23 08:10:00 UTC: expected always size >= 4, got 1"
    )


def test_changes_are_those_that_the_daemon_writes(project: Project) -> None:
    """A size set by hand is none of them, and its correction is."""
    events = [{"at": "5m", "resize": "web", "replicas": 9}]
    project.passes({"changes": 2}, events=events, duration="11m", subject={"replicas": 1})
    line = project.fails({"changes": 0}, events=events, duration="6m", subject={"replicas": 1})
    assert line.endswith("expected changes 0, got 2: to 2 at 2026-11-23 08:00:00 UTC; to 2 at 2026-11-23 08:05:00 UTC")


def test_a_reason_is_one_of_the_decisions_conditions(project: Project) -> None:
    project.passes({"at": "1m", "reason": "ReadyForNewScale"}, {"at": "1m", "reason": "ValidMetricFound"})
    line = project.fails({"at": "1m", "reason": "TooManyReplicas"})
    assert line.endswith(
        "expected reason TooManyReplicas, got ReadyForNewScale, ValidMetricFound, DesiredWithinRange, NotScaledToZero"
    )


def test_readiness_follows_the_start_up_time(project: Project) -> None:
    subject = {"replicas": 1, "startUp": "90s"}
    project.passes(
        {"at": "0", "size": 2, "ready": 1}, {"at": "89s", "ready": 1}, {"at": "90s", "ready": 2}, subject=subject
    )


def test_the_load_of_instances_that_warm_up_does_not_count(project: Project) -> None:
    """Each instance has twice its target whatever the size, so that only a warm-up ends the growth."""
    subject = {"values": {"load": "20"}, "replicas": 2}
    kept = {"always": "size <= 4", "to": "9m59s"}
    grown: list[dict[str, Any]] = [{"at": "0", "size": 4}, kept, {"at": "9m", "ready": 4}, {"at": "10m15s", "size": 8}]
    project.configure(per_instance())
    project.passes({"at": "30s", "size": 16}, subject=subject)
    project.passes(*grown, subject=subject | {"warmUp": "10m"})
    project.configure(per_instance(warmUp="10m"))
    project.passes(*grown, subject=subject)


def test_a_failure_says_where_it_is_written_and_explains_the_decision(project: Project) -> None:
    project.write({"at": "1m", "size": 3})
    code, text = project.run()
    assert code == 1
    assert f"{project.tests}:1:" in text
    assert "queue 10 of 10 asks for" in text
    assert text.splitlines()[-1] == "0 passed, 1 failed"


def test_a_failure_says_how_old_the_decision_is_that_it_explains(project: Project) -> None:
    """While the daemon is down, nothing is decided."""
    events = [{"at": "2m", "restart": True, "for": "10m"}]
    project.write({"at": "1m", "size": 3}, {"at": "11m50s", "size": 4}, events=events)
    lines = [line.strip() for line in project.run()[1].splitlines()]
    assert [line for line in lines if line.startswith("The last decision")] == ["The last decision, 10m5s earlier:"]


def test_a_load_is_shared_by_the_ready_instances(project: Project) -> None:
    """Booting instances take none, so that the loop is closed as in production."""
    project.configure(per_instance())
    subject = {"values": {}, "load": {"load": "40"}, "replicas": 2, "startUp": "1m"}
    project.passes({"at": "0", "size": 4}, {"at": "30m", "size": 4, "ready": 4}, {"changes": 1}, subject=subject)


def test_values_of_a_metric_of_instances_are_those_of_each(project: Project) -> None:
    """So the loop stays open: the size doubles until it is at its maximum."""
    project.configure(per_instance())
    project.passes({"at": "5m", "size": 20}, subject={"values": {"load": "20"}, "replicas": 2})


def test_a_load_of_a_value_target_is_divided_by_what_is_ready(project: Project) -> None:
    target = {"type": "Value", "value": 10}
    metric = {"type": "External", "external": {"metric": {"name": "queue"}, "query": {"expr": "q"}, "target": target}}
    project.configure(per_instance(metrics=[metric]))
    subject = {"values": {}, "load": {"queue": "60"}, "replicas": 3}
    project.passes({"at": "0", "size": 6}, {"at": "30m", "size": 6}, subject=subject)


def test_two_users_of_one_query_find_their_own_samples(project: Project) -> None:
    """With `match`, from one answer that the test gives once."""
    queries = {"all": {"expr": "loads"}}
    target = {"type": "AverageValue", "averageValue": 10}

    def scaler(name: str) -> dict[str, object]:
        query = {"ref": "all", "match": {"app": name}}
        metric = {"type": "External", "external": {"metric": {"name": "load"}, "query": query, "target": target}}
        return per_instance(name=name, scaleTargetRef={"adapter": "trial", "name": name}, metrics=[metric])

    project.configure(scaler("web"), scaler("api"), queries=queries)
    project.passes(
        {"at": "1m", "size": 3},
        subject={"values": {}},
        queries=[{"ref": "all", "values": {'{app="web"}': 30, '{app="api"}': 50}}],
        autoscalers={"web": {"expect": [{"at": "1m", "size": 3}]}, "api": {"expect": [{"at": "1m", "size": 5}]}},
    )


def test_max_age_finds_every_sample_of_a_test_fresh(project: Project) -> None:
    target = {"type": "AverageValue", "averageValue": 10}
    query = {"expr": "q", "maxAge": "1m"}
    metric = {"type": "External", "external": {"metric": {"name": "queue"}, "query": query, "target": target}}
    project.configure(per_instance(metrics=[metric]))
    project.passes({"at": "1m", "size": 2, "reason": "ValidMetricFound"})


def test_another_configuration_is_tested_by_the_same_tests(project: Project) -> None:
    """As in a review of a change."""
    project.write({"at": "1m", "size": 2})
    other = project.config.with_name("other.yaml")
    other.write_text(project.config.read_text().replace('"averageValue": 10', '"averageValue": 5'))
    assert project.run("--config.file", str(other))[0] == 1
    assert project.run("--config.file", str(project.config))[0] == 0


def test_a_dry_run_is_tested_as_if_it_were_live(project: Project) -> None:
    """A test asks what the file decides, and is written before anyone trusts it."""
    project.configure(per_instance(dryRun=True))
    project.passes({"at": "1m", "size": 4}, subject={"values": {}, "load": {"load": "40"}, "replicas": 2})
