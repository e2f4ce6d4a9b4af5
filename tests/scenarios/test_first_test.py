"""A test that is made from what the daemon recorded."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from autoscaler.record.housekeeping import Retention
from autoscaler.record.state import State
from autoscaler.scenarios.reading import read_tests
from autoscaler.scenarios.run import Run
from tests.scenarios.building import Project, per_instance

DAY = timedelta(days=1)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    monkeypatch.setenv("STATE_DIRECTORY", str(folder))
    return folder


@contextmanager
def lived(project: Project, state: Path, subject: dict[str, Any], **test: Any) -> Iterator[Run]:
    """A daemon's state after a scenario: its records are those of real cycles."""
    project.write(subject=subject, **({"duration": "1h"} | test))
    (scenario,) = read_tests(project.tests)
    opened = State.open(None, state, Retention(DAY, DAY))
    try:
        run = Run(scenario, opened)
        run.to_its_end()
        yield run
    finally:
        opened.close()


def made(project: Project, at: str = "2026-11-23T08:30:00Z") -> str:
    """The first test of `web` that is printed, written into the project's file."""
    text = project.tests
    text.unlink()
    code, said = project.command("--init", "web", "--at", at, "--config.file", str(project.config))
    assert code == 0, said
    text.write_text(said)
    return said


@pytest.mark.slow
def test_an_incident_becomes_a_test_that_passes(project: Project, state: Path) -> None:
    """Load that rises, an outage, a hand that sets a size, a pause and a deployment."""
    project.configure(per_instance())
    subject = {"values": {}, "load": {"load": "40x19 120x20 50"}, "replicas": 4, "startUp": "90s", "warmUp": "1m"}
    events = [
        {"at": "16m", "outage": "prometheus.default", "for": "3m"},
        {"at": "25m5s", "resize": "web", "replicas": 2},
        {"at": "30m", "deployment": "web", "for": "5m"},
        {"at": "41m", "pause": "web", "direction": "in"},
        {"at": "50m", "resume": "web"},
        {"at": "55m", "outage": "adapters.trial", "for": "1m"},
    ]
    with lived(project, state, subject, events=events) as run:
        sizes = {seen.size for seen in run.seen["web"]}
    assert {2, 4, 12} <= sizes
    text = made(project)
    assert "with this configuration" not in text
    for word in (
        "load: >-",
        "startUp: 1m30s",
        "warmUp: 1m",
        "resize",
        "deployment",
        "pause",
        "resume",
        "outage",
        "size: 12",
    ):
        assert word in text
    assert project.run()[0] == 0


@pytest.mark.slow
def test_a_deployment_that_reset_the_size_becomes_one_again(project: Project, state: Path) -> None:
    """As another client's size, it would not return."""
    project.configure(per_instance())
    event = {"at": "20m", "deployment": "web", "for": "5m", "replicas": 1}
    with lived(project, state, {"values": {}, "load": {"load": "40"}, "replicas": 4}, events=[event], duration="40m"):
        pass
    text = made(project, "2026-11-23T08:20:00Z")
    assert "deployment: web, for: 15s, replicas: 1" in text
    assert "with this configuration" not in text
    assert project.run()[0] == 0


@pytest.mark.slow
def test_the_result_of_another_configuration_is_noted(project: Project, state: Path) -> None:
    """The recorded size stays the expectation, and a comment has the other result."""
    project.configure(per_instance())
    with lived(project, state, {"values": {}, "load": {"load": "40x19 120"}, "replicas": 4}):
        pass
    project.configure(per_instance(maxReplicas=9))
    assert "size: 12}    # with this configuration: size 9" in made(project)
    assert project.run()[0] == 1


@pytest.mark.slow
def test_a_failed_cycle_hides_no_value_of_the_cycle_before_it(project: Project, state: Path) -> None:
    """Both are in one slot of the test: here because the clock is set back, as with a cycle that is late."""
    events = [{"at": "10m", "clock": "-15s"}, {"at": "10m", "outage": "prometheus.default", "for": "20m"}]
    with lived(
        project, state, {"values": {"queue": "20x38 40"}, "replicas": 2}, events=events, interval="15s", duration="30m"
    ):
        pass
    text = made(project, "2026-11-23T08:10:00Z")
    expected = ["{at: 9m45s, within: 30s, size: 4}", "{at: 29m45s, size: 4}"]  # of the change, and at the end
    assert re.findall(r"- (\{at: .*size: .*\})", text) == expected
    assert "with this configuration" not in text


@pytest.mark.slow
def test_requests_and_values_of_targets_are_written(project: Project, state: Path) -> None:
    target = {"type": "Utilization", "averageUtilization": 50}
    cpu = {"name": "cpu", "query": {"expr": "c"}, "target": target}
    memory = {"name": "memory", "query": {"expr": "m"}, "request": {"query": {"expr": "r"}}, "target": target}
    value = {"metric": {"name": "late"}, "query": {"expr": "p"}, "target": {"type": "Value", "value": 2}}
    metrics = [{"type": "Resource", "resource": each} for each in (cpu, memory)]
    project.configure(per_instance(metrics=[*metrics, {"type": "External", "external": value}]))
    subject = {"values": {"late": "1 _ 1x9 2"}, "load": {"cpu": 2, "memory": 900}, "requests": {"cpu": "500m"}}
    with lived(project, state, subject, queries=[{"expr": "r", "values": 450}], duration="20m"):
        pass
    text = made(project, "2026-11-23T08:10:00Z")
    assert "requests: {cpu: 500m}" in text
    assert '- expr: "r"\n        values: 450\n' in text
    assert "1x3 _x4 1x39 2x32" in text
    assert "with this configuration" not in text
    assert project.run()[0] == 0


@pytest.mark.slow
def test_metrics_of_one_name_are_answered_by_their_queries(project: Project, state: Path) -> None:
    """Kubernetes allows the same metric twice, with different selectors."""
    target = {"type": "AverageValue", "averageValue": 10}
    body = [
        ("External", "external", 'queue{shop="a"}'),
        ("External", "external", 'queue{shop="b"}'),
        ("Pods", "pods", "load"),
        ("Pods", "pods", "late"),
    ]
    metrics = [
        {"type": kind, key: {"metric": {"name": kind}, "query": {"expr": expr}, "target": target}}
        for kind, key, expr in body
    ]
    project.configure(per_instance(metrics=metrics))
    answers = zip([expr for _, _, expr in body], ["20", "10x19 40", "8", "10x29 15 10"], strict=True)
    queries = [{"expr": expr, "values": values} for expr, values in answers]
    with lived(project, state, {"values": {}}, queries=queries) as run:
        assert {2, 4, 20} < {seen.size for seen in run.seen["web"]}
    assert "with this configuration" not in made(project)
    assert project.run()[0] == 0


@pytest.mark.slow
def test_a_write_before_the_windows_are_known_is_no_expectation(project: Project, state: Path) -> None:
    """The scale-in at 08:12 follows from recommendations that are older than the test."""
    project.configure(per_instance())
    with lived(project, state, {"values": {}, "load": {"load": "40x6 20"}, "replicas": 4}) as run:
        assert [seen.at for seen in run.seen["web"] if seen.written is not None] == [timedelta(minutes=12)]
    text = made(project)
    assert "start: 2026-11-23T08:10:00Z" in text
    assert "with this configuration" not in text
    assert project.run()[0] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--init", "web"), "needs --at, and takes no FILE"),
        (("--init", "wep", "--at", "5m"), "the state has no autoscaler 'wep'; did you mean `web`?"),
        (("--init", "web", "--at", "2020-01-01T00:00Z"), "no cycle of web is recorded around 2020-01-01T00:00"),
        (("--at", "5m"), "is missing; name a file of tests"),
        ((), "is missing; name a file of tests"),
    ],
)
def test_a_time_or_a_name_that_the_state_lacks_is_said(
    project: Project, state: Path, options: tuple[str, ...], message: str
) -> None:
    with lived(project, state, {}, duration="1m"):
        pass
    code, said = project.command(*options, *(("--config.file", str(project.config)) if "--at" in options else ()))
    assert code == (1 if options[:1] == ("--init",) and "--at" in options else 2)
    assert message in " ".join(said.replace("│", " ").split())
