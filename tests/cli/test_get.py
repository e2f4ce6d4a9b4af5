"""`autoscaler get`, against a real server and a real state."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoscaler.cli.tables.listing import Row
from autoscaler.cli.tables.notes import notes
from autoscaler.documents.state_documents import StateDocuments
from autoscaler.documents.summary import AutoscalerList, summary
from autoscaler.model import Steering
from tests.cli.scene import Scene, ServedScene
from tests.decide.build import CPU_60, NOW, QUEUE_15, scaler
from tests.decisions import cpu, decision
from tests.documents.lives import open_state
from tests.replaced import replace

NOTE = "the following is from its state in"


def test_the_columns_are_those_of_kubectl(online: ServedScene) -> None:
    """What an HPA's user reads at a glance, in today's notation."""
    said = online.run("get")
    assert said.code == 0
    rows = [re.split(r" {2,}", line) for line in said.lines]
    assert [row[:7] for row in rows] == [
        ["NAME", "REFERENCE", "TARGETS", "MIN", "MAX", "REPLICAS", "READY"],
        ["broken", "fleet/web", "<unknown>/15 (avg)", "0", "100", "3", "3/3"],
        ["jobs", "fleet/web", "15/15 (avg)", "0", "100", "3", "3/3"],
        ["web", "fleet/web", "cpu: 60%/60%", "2", "10", "6", "6/6"],
    ]


def test_columns_are_aligned(online: ServedScene) -> None:
    """`awk` and eyes find them."""
    header, *rows = online.run("get").lines
    for title in ("REFERENCE", "TARGETS", "MIN", "MAX", "REPLICAS", "READY", "AGE"):
        assert {row[header.index(title) - 1] for row in rows} == {" "}
        assert " " not in {row[header.index(title)] for row in rows}


def test_a_pipe_gets_neither_colours_nor_lines_of_a_box(online: ServedScene) -> None:
    """Scripts read it."""
    for form in ("table", "wide"):
        out = online.run("get", "-o", form).out
        assert out.isascii()
        assert "\x1b" not in out


def test_wide_says_the_state_and_why(online: ServedScene) -> None:
    """The next question is answered without another command."""
    header, broken, jobs, web = online.run("get", "-o", "wide").lines
    assert header.split() == [
        "NAME",
        "REFERENCE",
        "TARGETS",
        "MIN",
        "MAX",
        "REPLICAS",
        "READY",
        "DESIRED",
        "AGE",
        "STATE",
        "WHY",
    ]
    assert "failing" in broken
    assert "no answer" in broken
    assert "steady" in jobs
    assert re.search(r"\b6 +6\b", web)


def test_names_choose_and_order_the_rows(online: ServedScene) -> None:
    """As kubectl takes them; a name twice is one row."""
    said = online.run("get", "web", "jobs", "web")
    assert [line.split()[0] for line in said.lines[1:]] == ["web", "jobs"]


def test_one_name_is_asked_for_alone(online: ServedScene, monkeypatch: pytest.MonkeyPatch) -> None:
    """`get web --watch` had ten thousand autoscalers sent each second."""
    sent, page = list[int](), StateDocuments.page

    def noting(*given: Any) -> AutoscalerList:
        found = page(*given)
        sent.append(len(found.autoscalers))
        return found

    monkeypatch.setattr(StateDocuments, "page", noting)
    assert online.run("get", "web", "--no-headers").lines[0].startswith("web ")
    assert sent == [1]


def test_json_is_what_the_daemon_says(online: ServedScene) -> None:
    """Nothing is lost on the way to a script."""
    assert json.loads(online.run("get", "-o", "json").out) == online.served.data("/api/v1/autoscalers")


def test_without_headers_there_are_rows_alone(online: ServedScene) -> None:
    """For a loop of the shell, as kubectl has it; the columns stay where they are."""
    for form in ("table", "wide"):
        assert online.run("get", "-o", form, "--no-headers").lines == online.run("get", "-o", form).lines[1:]


def test_names_alone_are_for_other_commands(online: ServedScene) -> None:
    assert online.run("get", "-o", "name").out == "broken\njobs\nweb\n"
    assert online.run("get", "web", "-o", "name").out == "web\n"


def test_yaml_holds_the_same(online: ServedScene) -> None:
    """For eyes and for yq."""
    said = online.run("get", "web", "-o", "yaml")
    assert yaml.safe_load(said.out) == json.loads(online.run("get", "web", "-o", "json").out)


@pytest.mark.parametrize("form", ["table", "wide", "json"])
def test_without_a_daemon_the_state_is_read(offline: Scene, form: str) -> None:
    """An outage of the daemon is when one looks; it is said that nobody is at the wheel."""
    said = offline.run("get", "-o", form)
    assert said.code == 0
    assert said.err.splitlines()[0] == (
        f"no daemon answers at http://127.0.0.1:1 (connection refused); {NOTE} {offline.folder}. "
        "If it runs, give its address with --server or $AUTOSCALER_SERVER"
    )
    assert "cpu: 60%/60%" in said.out


def test_an_unknown_name_brings_the_nearest(online: ServedScene, offline: Scene) -> None:
    """A typo costs one look; with and without a daemon."""
    for scene in (online, offline):
        said = scene.run("get", "job")
        assert (said.code, said.out) == (1, "")
        assert said.err.endswith("there is no autoscaler 'job'; did you mean jobs?\n")


@pytest.mark.parametrize("command", ["get", "describe"])
def test_a_name_that_is_no_utf_8_is_unknown(online: ServedScene, command: str) -> None:
    """As the shell hands on a byte that is none."""
    said = online.run(command, "web\udcff")
    assert (said.code, said.out) == (1, "")
    assert "there is no autoscaler 'web" in said.err


def test_a_name_like_no_other_brings_the_list(online: ServedScene) -> None:
    """Nothing is guessed; what would steer a terminal is not repeated."""
    said = online.run("get", "\x1b[31mzzzzzz")
    assert said.err == "there is no autoscaler '\\x1b[31mzzzzzz'; `autoscaler get` lists them\n"


@pytest.mark.parametrize("form", ["json", "name"])
def test_watching_a_document_is_refused(online: ServedScene, form: str) -> None:
    """Rows are watched; a half-written JSON list would help nobody."""
    said = online.run("get", "-o", form, "--watch")
    assert said.code == 2
    assert f"leave out -o {form}" in said.err


def test_what_left_the_configuration_is_still_listed(online: ServedScene) -> None:
    """Its target keeps the size it has; somebody may wonder why."""
    before, online.daemon.scalers = online.daemon.scalers, []
    try:
        names = {line.split()[0] for line in online.run("get").lines[1:]}
    finally:
        online.daemon.scalers = before
    assert names == {"broken", "jobs", "web"}


def test_where_there_is_nothing_it_says_so_on_stderr(tmp_path: Path, offline: Scene) -> None:
    """A script's pipe stays empty."""
    with open_state(tmp_path):
        pass
    said = offline.run("get", STATE_DIRECTORY=str(tmp_path))
    assert (said.code, said.out) == (0, "")
    assert said.err.endswith("no autoscalers are configured or remembered\n")


@pytest.mark.slow
def test_it_starts_without_what_it_does_not_need(online: ServedScene) -> None:
    """Half of its second would go into imports."""
    heavy = ["sqlalchemy", "autoscaler.config", "requests", "rich", "yaml", "structlog", "apscheduler", "starlette"]
    script = (
        "import sys\nfrom autoscaler.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"print(*(name for name in {heavy} if name in sys.modules), file=sys.stderr)"
    )
    words = [sys.executable, "-c", script, "get", "web"]
    done = subprocess.run(words, check=True, capture_output=True, text=True, env=os.environ | online.env, timeout=60)
    assert done.stderr.strip() == ""
    assert "cpu: 60%/60%" in done.stdout


def test_labels_select(online: ServedScene) -> None:
    """As `kubectl get hpa -l`."""
    web, *others = online.daemon.scalers
    online.daemon.scalers = [replace(web, labels=(("team", "shop"),)), *others]
    assert [line.split()[0] for line in online.run("get", "-l", "team=shop").lines] == ["NAME", "web"]
    assert [line.split()[0] for line in online.run("get", "-l", "!team").lines] == ["NAME", "broken", "jobs"]
    (found,) = json.loads(online.run("get", "-l", "team in (shop)", "-o", "json").out)["autoscalers"]
    assert found["labels"] == {"team": "shop"}
    nothing = online.run("get", "-l", "team=mail")
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err == "no autoscalers have labels that match 'team=mail'\n"


@pytest.mark.parametrize("words", [("web", "-l", "team"), ("-l", "team=shop,"), ("-l", "team>1")])
def test_a_selector_that_makes_no_sense_is_2(online: ServedScene, words: tuple[str, ...]) -> None:
    """Before anybody is asked."""
    said = online.run("get", *words)
    assert (said.code, said.out) == (2, "")


def test_without_a_daemon_labels_are_the_configurations(offline: Scene) -> None:
    """The state does not know them; to show all instead would be a lie."""
    said = offline.run("get", "-l", "team=shop")
    assert (said.code, said.out) == (1, "")
    assert "only the configuration has labels" in said.err
    config = offline.folder / "autoscaler.yaml"
    config.write_text(
        "adapters: {fleet: {type: memory, groups: {web: {}}}}\nautoscalers:\n- name: web\n  labels: {team: shop}\n"
        "  scaleTargetRef: {adapter: fleet, name: web}\n  maxReplicas: 9\n  metrics:\n"
        "  - {type: External, external: {metric: {name: q}, query: {expr: q}, target: {type: Value, value: 1}}}\n"
    )
    said = offline.run("get", "-l", "team=shop", "--config.file", str(config))
    assert [line.split()[0] for line in said.lines] == ["NAME", "web"]


def test_what_fails_is_said_below_the_table(online: ServedScene) -> None:
    """`<unknown>` alone sends a newcomer searching; stdout stays a table."""
    said = online.run("get")
    assert said.err == "broken: 1 of 1 metrics failed, first external metric queue: no answer\n"
    assert online.run("get", "-o", "wide").err == ""  # whose last column says it


def test_pauses_and_overrides_are_said_below_the_table(online: ServedScene) -> None:
    """Who wonders why nothing moves looks here first."""
    online.run("pause", "jobs", "--direction", "in", "--reason", "deploying")
    online.run("override", "web", "--min", "3", "--for", "2h")
    try:
        for form in ("table", "wide"):
            said = online.run("get", "jobs", "web", "-o", form).err.splitlines()
            assert re.fullmatch(r"jobs: scaling in is paused by \S+, until it is resumed: deploying", said[0])
            assert re.fullmatch(
                r"web: its bounds are overridden \(min 3\) by \S+, for another (2h|1h59m|119m|120m)", said[1]
            )
    finally:
        online.run("resume", "--all")


def test_one_more_problem_of_a_refused_reload_is_one(online: ServedScene) -> None:
    """Two slips are what an edit mostly holds."""
    online.daemon.health.reload_failed(("autoscaler.yaml:3:1: it is wrong", "another"))
    try:
        said = online.run("get", "web")
    finally:
        online.daemon.health.configured((), ())
    assert said.err.endswith("it is wrong; and 1 more problem\n")


def test_a_refused_reload_is_said_below_the_table(online: ServedScene) -> None:
    """Otherwise an edit that never took effect looks like one that did not help."""
    problem = "autoscaler.yaml:3:1: controler: is not a known key; did you mean controller?"
    online.daemon.health.reload_failed((problem, "another", "a third"))
    try:
        said = online.run("get", "web")
        listed = json.loads(online.run("get", "-o", "json").out)
    finally:
        online.daemon.health.configured((), ())
    assert re.fullmatch(r"the reload at \d\d:\d\d:\d\d \(\d+s ago\) was refused, and .* stays in force: .*\n", said.err)
    assert said.err.endswith(f"{problem}; and 2 more problems\n")
    assert listed["refusedReload"]["problem"] == problem


def test_a_pool_that_cannot_start_says_so_below_the_table() -> None:
    """Its size is as wanted, and no metric need fail."""
    made = decision(warnings=("worker web-3 ended with exit code 1: cannot bind", "another one"))
    shown = summary("web", scaler(QUEUE_15), made, Steering(), configured=True)
    assert notes([shown], None, NOW) == ["web: worker web-3 ended with exit code 1: cannot bind"]
    assert notes([shown], None, NOW, errors=False) == []  # where the last column says it


def test_instances_without_a_sample_are_said_below_the_table() -> None:
    """The table shows a value, whether it is that of one instance or of all."""
    made = decision(metrics=(replace(cpu(), ready=1, missing=("web-2", "web-3")),))
    shown = summary("web", scaler(CPU_60), made, Steering(), configured=True)
    text = "2 of 3 instances have no sample of cpu: web-2, web-3"
    assert notes([shown], None, NOW) == [f"web: {text}"]
    assert notes([shown], None, NOW, errors=False) == []
    assert Row.of(shown).wide[-1] == text  # where the last column says it
    failing = shown.model_copy(update={"error": "no answer"})
    assert notes([failing], None, NOW, errors=False) == [f"web: {text}"]


def test_many_notes_are_counted() -> None:
    """An outage of Prometheus fails them all; the table must not scroll away."""
    failing = [
        summary(f"s{number}", scaler(QUEUE_15), decision(error="no answer"), Steering(), configured=True)
        for number in range(14)
    ]
    lines = notes(failing, None, NOW)
    assert len(lines) == 11
    assert lines[-1] == "and 4 more; `autoscaler get -o wide` shows them"
