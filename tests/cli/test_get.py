"""`autoscaler get` with a real server and a real state."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoscaler.cli import get as cli_get
from autoscaler.cli.listing import HEADER, cells, notes
from autoscaler.layout import Screen
from autoscaler.model import ManualControls, Override
from autoscaler.view import reads
from autoscaler.view.summary import AutoscalerList, Summary, summaries, summary
from tests.cli.scene import Scene, ServedScene
from tests.decide.build import CPU_60, NOW, QUEUE_15, scaler
from tests.decisions import cpu, decision
from tests.replaced import replace
from tests.view.lives import Recorded, open_state


def test_the_columns_are_those_of_kubectl(online: ServedScene) -> None:
    """Users of kubectl read them at a glance."""
    said = online.run("get")
    assert said.code == 0
    rows = [re.split(r" {2,}", line) for line in said.lines]
    assert [row[:7] for row in rows] == [
        ["NAME", "REFERENCE", "TARGETS", "MIN", "MAX", "REPLICAS", "READY"],
        ["broken", "fleet/broken", "<unknown>/15 (avg)", "0", "100", "3", "3/3"],
        ["jobs", "fleet/jobs", "15/15 (avg)", "0", "100", "3", "3/3"],
        ["web", "fleet/web", "cpu: 60%/60%", "2", "10", "6", "6/6"],
    ]


def test_sizes_alone_are_for_deployments(online: ServedScene) -> None:
    """`replicas: ${WEB:-1}` in a stack file: the deployment keeps the size."""
    said = online.run("get", "web", "-o", "size")
    assert (said.code, said.out) == (0, "6\n")


def test_columns_are_aligned(online: ServedScene) -> None:
    """`awk` depends on it."""
    header, *rows = online.run("get").lines
    for title in ("REFERENCE", "TARGETS", "MIN", "MAX", "REPLICAS", "READY", "AGE", "WHY"):
        assert {row[header.index(title) - 1] for row in rows} == {" "}
        assert " " not in {row[header.index(title)] for row in rows}


def test_a_pipe_gets_plain_ascii(online: ServedScene) -> None:
    """Scripts read it."""
    for form in ("table", "wide"):
        out = online.run("get", "-o", form).out
        assert out.isascii()
        assert "\x1b" not in out


def test_wide_shows_the_state_and_the_reason(online: ServedScene) -> None:
    header, broken, jobs, web = online.run("get", "-o", "wide").lines
    assert " ".join(header.split()) == "NAME REFERENCE TARGETS MIN MAX REPLICAS READY DESIRED AGE STATE WHY"
    assert "failing" in broken
    assert "no answer" in broken
    assert "steady" in jobs
    assert re.search(r"\b6 +6\b", web)


def test_names_select_and_order_the_rows(online: ServedScene) -> None:
    """A name that is given twice is one row."""
    said = online.run("get", "web", "jobs", "web")
    assert [line.split()[0] for line in said.lines[1:]] == ["web", "jobs"]


def test_for_one_name_the_daemon_sends_one_autoscaler(online: ServedScene, monkeypatch: pytest.MonkeyPatch) -> None:
    """`get web --watch` would otherwise fetch the whole fleet each second."""
    sent = list[int]()

    def noting(names: Sequence[str], *given: Any) -> Sequence[Summary]:
        sent.append(len(names))
        return summaries(names, *given)

    monkeypatch.setattr(reads, "summaries", noting)
    assert online.run("get", "web", "--no-headers").lines[0].startswith("web ")
    assert sent == [1]


def test_no_headers_prints_the_same_rows_without_the_header(online: ServedScene) -> None:
    for form in ("table", "wide"):
        rows, table = (
            re.sub(r"\d+s", "AGE", online.run("get", "-o", form, *more).out) for more in (("--no-headers",), ())
        )
        assert rows == table.partition("\n")[2]


def test_output_name_prints_names_only(online: ServedScene) -> None:
    assert online.run("get", "-o", "name").out == "broken\njobs\nweb\n"
    assert online.run("get", "web", "-o", "name").out == "web\n"


def test_yaml_has_the_content_of_json(online: ServedScene) -> None:
    said = online.run("get", "web", "-o", "yaml")
    assert yaml.safe_load(said.out) == json.loads(online.run("get", "web", "-o", "json").out)


def test_an_unknown_name_without_a_near_one_lists_those_that_are_known(online: ServedScene) -> None:
    """Control characters in the name are escaped."""
    said = online.run("get", "\x1b[31mzzzzzz")
    assert said.err == "no autoscaler '\\x1b[31mzzzzzz' is configured or remembered; known: broken, jobs, web\n"


@pytest.mark.parametrize("form", ["json", "name"])
def test_watching_a_document_is_refused(online: ServedScene, form: str) -> None:
    """An incomplete JSON list is of no use."""
    said = online.run("get", "-o", form, "--watch")
    assert said.code == 2
    assert f"leave out -o {form}" in said.err


def test_an_autoscaler_removed_from_the_configuration_is_still_listed(online: ServedScene) -> None:
    """Its target keeps its size, and the state explains why."""
    before, online.daemon.scalers = online.daemon.scalers, []
    try:
        names = {line.split()[0] for line in online.run("get").lines[1:]}
    finally:
        online.daemon.scalers = before
    assert names == {"broken", "jobs", "web"}


def test_an_empty_state_is_reported_on_stderr(tmp_path: Path, offline: Scene) -> None:
    """Standard output stays empty for scripts."""
    with open_state(tmp_path):
        pass
    said = offline.run("get", STATE_DIRECTORY=str(tmp_path))
    assert (said.code, said.out) == (0, "")
    assert said.err.endswith("no autoscalers are configured or remembered\n")


def test_a_selector_selects_by_label(online: ServedScene) -> None:
    """As `kubectl get hpa -l` does."""
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
def test_an_invalid_selector_exits_2(online: ServedScene, words: tuple[str, ...]) -> None:
    said = online.run("get", *words)
    assert (said.code, said.out) == (2, "")


def test_without_a_daemon_an_autoscaler_grows_no_older(tmp_path: Path, offline: Scene) -> None:
    """The state is as the daemon left it, ten days ago, and the first line says so."""
    with open_state(tmp_path) as state:
        life = Recorded(state.ledger("fleet"), scaler(CPU_60))
        life.now = datetime.now(UTC) - timedelta(days=10)
        life.cpu(60)
    said = offline.run("get", STATE_DIRECTORY=str(tmp_path))
    assert re.search(r"; this is the last known state, of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(9d\w* ago\), in ", said.err)
    assert re.search(r" 0s +", said.lines[1]), said.out


def test_without_a_daemon_labels_come_from_the_configuration(offline: Scene) -> None:
    """The state has no labels, and showing every autoscaler would be wrong."""
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


def test_the_last_column_has_the_cause(online: ServedScene) -> None:
    """A failure is in its row, and nowhere else."""
    for form in ("table", "wide"):
        said = online.run("get", "-o", form)
        rows = {line.split()[0]: line for line in said.lines}
        assert rows["broken"].endswith("   queue has no value: no answer")
        assert rows["web"].endswith("   cpu 60% of 60% asks for 6")
        assert said.err == ""


def test_a_pause_is_told_once_and_an_override_below_the_table(online: ServedScene) -> None:
    """They explain why a size does not change. A pause stands in the column WHY already."""
    online.run("pause", "jobs", "--direction", "in", "--reason", "deploying")
    online.run("override", "web", "--min", "3", "--for", "2h")
    try:
        for form in ("table", "wide"):
            said = online.run("get", "jobs", "web", "-o", form)
            assert re.search(
                r"^jobs .* scaling in paused by \S+ until it is resumed: deploying", said.out, re.MULTILINE
            )
            assert re.fullmatch(
                r"web: its bounds are overridden \(min 3\) by \S+, for another (2h|1h59m|119m|120m)\n", said.err
            )
    finally:
        online.run("resume", "--all")


@pytest.mark.parametrize(("others", "more"), [(1, "1 more problem"), (2, "2 more problems")])
def test_a_refused_reload_is_printed_below_the_table(online: ServedScene, others: int, more: str) -> None:
    """An operator must not take an edit that is not in force for one that did not help."""
    problem = "autoscaler.yaml:3:1: controler: is not a known key; did you mean controller?"
    online.daemon.health.reload_failed((problem, *["another"] * others))
    try:
        said = online.run("get", "web")
        listed = json.loads(online.run("get", "-o", "json").out)
    finally:
        online.daemon.health.configured((), ())
    assert re.fullmatch(r"the reload at \d\d:\d\d:\d\d \(\d+s ago\) was refused, and .* stays in force: .*\n", said.err)
    assert said.err.endswith(f"{problem}; and {more}\n")
    assert listed["refusedReload"]["problem"] == problem


def test_a_warning_of_the_target_stands_behind_the_cause() -> None:
    """A pool that cannot start a worker may have no failing metric."""
    made = decision(warnings=("worker web-3 ended with exit code 1: cannot bind", "another one"))
    shown = summary("web", scaler(QUEUE_15), made, ManualControls(), configured=True)
    assert cells(shown, NOW, HEADER)[-1].endswith("; worker web-3 ended with exit code 1: cannot bind")


def test_instances_without_a_sample_stand_behind_the_cause() -> None:
    """The table shows the same value for one instance as for all."""
    made = decision(metrics=(replace(cpu(), ready=1, missing=("web-2", "web-3")),))
    shown = summary("web", scaler(CPU_60), made, ManualControls(), configured=True)
    assert cells(shown, NOW, HEADER)[-1].endswith("; 2 of 3 instances have no sample of cpu: web-2, web-3")


def test_many_notes_are_counted() -> None:
    """Somebody may override a whole fleet; the table stays on the screen."""
    given = ManualControls(override=Override(3, None, "ann", "", NOW, None))
    found = [summary(f"s{number}", scaler(QUEUE_15), decision(), given, configured=True) for number in range(14)]
    lines = notes(AutoscalerList(autoscalers=tuple(found), total=14), NOW)
    assert len(lines) == 11
    assert lines[-1] == "and 4 more; `autoscaler get -o json` shows them"


def test_on_a_narrow_screen_only_what_needs_somebody_takes_two_lines(
    online: ServedScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cause of a failure is uncut, and a fleet at rest stays one line for each autoscaler."""
    monkeypatch.setattr(cli_get, "screen", lambda: Screen(80))
    lines = online.run("get").lines
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["NAME", "broken", "jobs", "web"]
    assert [line.strip() for line in lines if line.startswith(" ")] == ["queue has no value: no answer"]
