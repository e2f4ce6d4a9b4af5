"""Files of tests that are wrong: one line for each problem, with its place and what to do."""

from pathlib import Path
from typing import Any

import pytest

from autoscaler.errors import ConfigError
from autoscaler.scenarios.reading import read_tests
from tests.scenarios.building import Project, per_instance

AT = {"at": "1m", "size": 2}


def event(**keys: Any) -> list[dict[str, Any]]:
    return [{"at": "1m", **keys}]


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ({"at": "1m"}, "write `at` with size, ready or reason; or one of always, never and changes"),
        ({"size": 2}, "size, ready and reason need `at`, and take no `from` and `to`"),
        ({"always": "size > 1", "never": "size > 5"}, "or one of always, never and changes"),
        ({"always": "size > 1", "at": "1m"}, "always, never and changes take `from` and `to`, not `at` and `within`"),
        ({"always": "size"}, "'size' is not a condition; write one as in size >= 4 or ready < 2"),
        ({"always": "sise > 4"}, "'sise > 4' is not a condition"),
        ({"never": 4}, "'4' is not a condition"),
        ({"at": "1m", "size": "many"}, "'many' is not a size; write a number, as in 10 or \">= 4\""),
        ({"at": "1m", "size": True}, "'True' is not a size"),
        ({"at": "1m", "size": "9" * 400}, "is not a size"),
        ({"at": "noon", "size": 2}, "'noon' is not a valid duration; write numbers with units"),
        ({"at": "2026-11-22T08:00", "size": 2}, "2026-11-22T08:00 is before the start"),
        ({"changes": 0, "from": "5m", "to": "1m"}, "is before `from`"),
        ({"at": "1m", "sise": 2}, "unknown key; did you mean `size`?"),
    ],
)
def test_an_expectation_without_a_meaning_is_refused(project: Project, expect: dict[str, Any], message: str) -> None:
    said = project.refuses(expect)
    assert "tests[0].autoscalers.web.expect[0]" in said
    assert message in said


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (event(), "write exactly one of deployment, outage, resize, pause, override, resume, clock, restart"),
        (event(pause="web", resume="web"), "write exactly one of"),
        (event(deployment="web"), "deployment needs `for` beside it"),
        (event(resize="web"), "resize needs `replicas` beside it"),
        (event(resize="web", replicas=5, direction="in"), "resize takes no `direction`; remove it"),
        (event(restart=True, replicas=1), "restart takes no `replicas`; remove it"),
        (event(pause="wep"), "the test has no autoscaler 'wep'; did you mean `web`?"),
        (event(outage="default", **{"for": "1m"}), "there is no 'default'; known: adapters.trial, prometheus.default"),
        (event(clock="10m"), "'10m' is not a step; write one as in +10m or -1h"),
        (event(clock="+900y"), "is too long; write at most a year"),
        (event(resize="web", replicas=2_000_000_000), "is too large; write at most 10000"),
        ([{"pause": "web"}], "tests[0].events[0].at: is missing; it has no default"),
    ],
)
def test_an_event_without_a_meaning_is_refused(project: Project, events: Any, message: str) -> None:
    assert message in project.refuses(AT, events=events)


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        ({"values": {}}, "metric queue has no answer; give it `values` or `load`"),
        ({"values": {"queu": 1}}, "web has no metric 'queu'; did you mean `queue`?"),
        ({"load": {"queue": 1}}, "the metric has `values`, too; remove one of them"),
        ({"values": {"queue": "1 2 three"}}, "'three' is not a value; write it as promtool does"),
        ({"values": {"queue": True}}, "expected values in promtool's notation"),
        ({"values": {"queue": {"up{": 1}}}, "'up{' is not a series"),
        ({"values": {"queue": {'{a=~"b"}': 1}}}, "is not a series; write it as in"),
        ({"replicas": 2_000_000_000}, "is too large; write at most 10000"),
        ({"startUp": "soon"}, "'soon' is not a valid duration"),
        ({"size": 3}, "unknown key"),
    ],
)
def test_a_subject_without_a_meaning_is_refused(project: Project, subject: dict[str, Any], message: str) -> None:
    said = project.refuses(AT, subject=subject)
    assert "tests[0].autoscalers.web" in said
    assert message in said


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ({"start": "2026-11-23T08:00"}, "tests[0].start: it has no zone; add `timezone`"),
        ({"timezone": "Nowhere/Land"}, "'Nowhere/Land' is not a time zone of this machine"),
        ({"duration": "30s"}, "a time of the test is 1m after its start; write at least that"),
        ({"duration": "10y"}, "it lasts 3650d; write at most 8d16h20m, or a longer `tick`"),
        ({"duration": "1h", "tick": "10ms"}, "write at least 1s"),
        ({"autoscalers": {}}, "is empty; give at least one"),
        ({"autoscalers": {"wob": {}}}, "has no autoscaler 'wob'; did you mean `web`?"),
        (
            {"queries": [{"expr": "x", "values": 1}]},
            "tests[0].queries[0].expr: no autoscaler of the test asks this query",
        ),
        ({"queries": [{"ref": "cpu", "values": 1}]}, "has no query 'cpu'; none is defined"),
        ({"queries": [{"values": 1}]}, "write either `expr` or `ref`"),
        ({"interval": "0"}, "0 is too short; write a duration above 0"),
    ],
)
def test_a_test_without_a_meaning_is_refused(project: Project, test: dict[str, Any], message: str) -> None:
    assert message in project.refuses(AT, **test)


def test_a_test_that_ends_at_its_start_is_refused(project: Project) -> None:
    assert "nothing says how long it lasts; add `duration`" in project.refuses()


def test_a_request_that_is_a_query_needs_an_answer(project: Project) -> None:
    target = {"type": "Utilization", "averageUtilization": 60}
    resource = {"name": "cpu", "query": {"expr": "c"}, "request": {"query": {"expr": "r"}}, "target": target}
    project.configure(per_instance(metrics=[{"type": "Resource", "resource": resource}]))
    said = project.refuses(AT, subject={"values": {}, "load": {"cpu": 3}})
    assert "the request of metric cpu is a query without an answer; add it to `queries`" in said


def test_two_answers_to_one_query_are_refused(project: Project) -> None:
    """Prometheus would not sum them either."""
    project.configure(per_instance(), per_instance(name="api", scaleTargetRef={"adapter": "trial", "name": "api"}))
    one = {"values": {"load": {'{instance="web-1"}': 1}}}
    two = {"values": {"load": {'{instance="api-1"}': 1}}}
    assert "answer it once, under `queries`" in project.refuses(AT, autoscalers={"web": one, "api": two})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "tests: is missing; it has no default"),
        ("- 1", "the file is not a mapping"),
        ("tests: [", "invalid YAML"),
        ("config: autoscaler.yaml\ntests: []", "is empty; give at least one"),
        ("tests: [{name: a, start: 2026-11-23T08:00Z, autoscalers: {web: {}}}]", "config: is missing; name the config"),
        ("config: gone.yaml\ntests: [{name: a, start: 2026-11-23T08:00Z, autoscalers: {web: {}}}]", "cannot be read"),
        ("x: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(f"y{n}: &{n} [{', '.join(['*a'] * 9)}]\n" for n in "bcdefg"), "y"),
        ("[" * 100_000, "nested deeper"),
    ],
)
def test_a_file_of_another_form_is_refused(project: Project, text: str, message: str) -> None:
    project.tests.write_text(text)
    code, said = project.run()
    assert code == 1
    assert message in said


def test_a_file_that_is_too_large_is_refused(project: Project) -> None:
    with project.tests.open("wb") as file:
        file.truncate(17 * 2**20)
    code, said = project.run()
    assert code == 1
    assert "is larger than 16 MiB" in said


def test_every_problem_of_a_file_is_said_at_once(project: Project) -> None:
    project.write(
        {"at": "noon", "size": 2}, {"at": "1m", "size": 2}, subject={"values": {"wait": 1}}, events=event(pause="me")
    )
    with pytest.raises(ConfigError) as raised:
        read_tests(project.tests)
    assert len(raised.value.problems) == 4
    assert {each.file for each in raised.value.problems} == {str(project.tests)}


def test_a_wrong_file_does_not_keep_others_from_running(project: Project, tmp_path: Path) -> None:
    project.write(AT)
    code, said = project.run(str(tmp_path / "gone.yaml"))
    assert code == 1
    assert said.splitlines()[-1] == "1 passed, 0 failed, 1 file could not be run"


@pytest.mark.slow
def test_thousands_of_expectations_and_values_are_read(project: Project) -> None:
    """Each costs no more than its line."""
    expect = [{"at": f"{number}s", "size": 2} for number in range(3000)]
    project.passes(*expect, subject={"replicas": 2, "values": {"queue": " ".join(["20"] * 100_000)}}, tick="10m")
