"""`autoscaler check --live` with real servers."""

import socket
from collections.abc import Mapping
from contextlib import closing
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Final

import pytest

from autoscaler.cli import live
from autoscaler.cli.findings import Findings
from autoscaler.clock import SystemClock
from autoscaler.config.loader import load
from autoscaler.target import installed
from autoscaler.target.contract import RecordingLogger
from autoscaler.target.registry import GROUP
from tests.cli.checking import run
from tests.cli.scene import UNREACHABLE
from tests.cli.stubborn import Stubborn
from tests.daemon.running import autoscaler, running_daemon, workers, write_config
from tests.servers.ports import free_port

pytestmark = pytest.mark.slow

_CPU = 'label_replace(vector(0.9), "instance", "{}", "", "")'
_NOT_READ_HERE: Final = "vector(3) or sum by (anchored) (x)"
"""promql-parser reads the label as a keyword; Prometheus does not."""


@pytest.fixture(autouse=True)
def stubborn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Install the adapter type `stubborn`, and use a state folder of the test."""
    entry = EntryPoint("stubborn", "tests.cli.stubborn:Stubborn", GROUP)
    for module in ("autoscaler.target.registry", "autoscaler.config.connections"):
        monkeypatch.setattr(f"{module}.installed", lambda: dict(installed()) | {"stubborn": entry})
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))


def cpu(expr: str) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": 60}
    return {"type": "Resource", "resource": {"name": "cpu", "query": {"expr": expr}, "request": 1, "target": target}}


def examined(config: Path, seconds: float = 60) -> Mapping[str, Findings]:
    """Return the findings by the first word of their titles."""
    blocks = live.examine(load(config), SystemClock(), RecordingLogger(), seconds=seconds)
    return {block.title.split(" ")[0]: block for block in blocks}


def line(block: Findings, label: str) -> tuple[str, bool]:
    """Return the text of a finding and whether it is wrong."""
    return next((line.text, line.wrong) for line in block.lines if line.label == label)


def check(config: Path, *arguments: str) -> tuple[int, str]:
    """Run the command; return its exit code and output."""
    return run("check", *arguments, config)


def test_live_sees_the_workers_of_a_running_daemon_and_changes_nothing(
    tmp_path: Path, prometheus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check reads the daemon's records of the pool without locking or changing them.

    It finds the state of the daemon that runs the file: a shell lacks the daemon's $STATE_DIRECTORY.
    """
    port = free_port()
    query = _CPU.format(f"127.0.0.1:{port}")
    target = {"type": "AverageValue", "averageValue": 1}
    pods = {"metric": {"name": "load"}, "query": {"expr": query}, "target": target}
    scaler = autoscaler("web", query, metrics=[{"type": "Pods", "pods": pods}], maxReplicas=1)
    config = write_config(tmp_path, prometheus, [scaler], web={"controlSocket": "control.sock"})
    config.write_text(config.read_text().replace("command:", f"ports: {port}-{port}\n        command:"))
    with running_daemon(config) as daemon:
        daemon.wait_for("decision", current=1, level="info")
        before = workers(tmp_path)
        monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "elsewhere"))
        code, out = check(config, "--live")
        assert workers(tmp_path) == before
        seen = len(daemon.events("decision"))
        daemon.wait_for("decision", count=seen + 1)
        assert not daemon.events("pools_not_kept")
        daemon.stop()
    assert code == 0, out
    assert not (tmp_path / "elsewhere").exists()
    assert "\nconnections: ok\n  prometheus default  1 query answered, the slowest in 0." in out
    assert "\n  adapter local       process, 1 of 1 target read\n" in out
    assert "\nweb on local/web: ok\n  target  size 1, 1 instance: 1 ready\n  load    " in out
    assert out.endswith(f"\n{config}: all would work\n")


def test_a_program_that_is_not_there_is_a_warning_and_with_live_an_error(tmp_path: Path, prometheus: str) -> None:
    """The check may run on another machine than the daemon; --live asks whether it would work here."""
    absent = str(tmp_path / "absent")
    adapters = {"odd": {"type": "command", "observe": [absent], "scale": [absent]}}
    scalers = [autoscaler("mine", "vector(3)", "odd"), autoscaler("web", "vector(3)")]
    scalers[1]["drain"] = {"timeout": "1m", "command": [absent]}
    config = write_config(tmp_path, prometheus, scalers, adapters)
    code, out = check(config)
    assert code == 0, out
    problem = f"{absent} does not exist here; install it, or correct the path"
    for key in ("adapters.odd.observe[0]", "adapters.odd.scale[0]", "autoscalers[1].drain.command[0]"):
        assert f"warning: {key}: {problem}; what needs it fails until then\n" in out
    assert check(config, "--strict")[0] == 1
    found = examined(config)
    assert line(found["mine"], "target")[1]
    assert line(found["mine"], "scaling") == (problem, True)
    assert line(found["web"], "drain") == (problem, True)


def test_live_before_the_first_start_creates_no_file_and_no_worker(tmp_path: Path, prometheus: str) -> None:
    config = write_config(tmp_path, prometheus, [autoscaler("web", "vector(3)")])
    code, out = check(config, "--live")
    assert code == 0, out
    assert "\n  now     queue 3 in total of 1 asks for 3\n" in out
    assert not workers(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [config.name]


def test_the_last_line_names_the_first_problems(tmp_path: Path) -> None:
    """The last line stays on the screen after a long check. It names four at most."""
    config = write_config(tmp_path, UNREACHABLE, [autoscaler("web", "vector(3)")])
    code, out = check(config, "--live")
    assert code == 1
    assert out.endswith(f"\n{config}: would not work: connections, web on local/web\n")
    config = write_config(tmp_path, UNREACHABLE, [autoscaler(f"web-{n}", "vector(3)") for n in range(7)])
    assert check(config, "--live")[1].endswith("web-3 on local/web-3 and 3 more\n")


def test_a_target_that_cannot_be_scaled_does_not_hide_the_others(tmp_path: Path, prometheus: str) -> None:
    scalers = [autoscaler(name, "vector(3)", "odd") for name in ("global", "narrow", "fine")]
    found = examined(write_config(tmp_path, prometheus, scalers, {"odd": {"type": "stubborn"}}))
    assert {name: block.wrong for name, block in found.items()} == {
        "connections": True,
        "global": True,
        "narrow": True,
        "fine": False,
    }
    assert line(found["connections"], "adapter odd") == ("stubborn, 2 of 3 targets read", True)
    assert line(found["global"], "target")[0].startswith("service global is a global service")
    assert "no size is allowed" in line(found["narrow"], "now")[0]
    assert line(found["fine"], "now") == ("queue 1.5 of 1 asks for 3", False)


def test_an_adapter_is_built_for_a_dry_run_and_closed(tmp_path: Path, prometheus: str) -> None:
    """This does not depend on `dryRun` in the file."""
    Stubborn.dry_runs.clear()
    Stubborn.closed.clear()
    scalers = [autoscaler("fine", "vector(3)", "odd")]
    examined(write_config(tmp_path, prometheus, scalers, {"odd": {"type": "stubborn"}}))
    assert (Stubborn.dry_runs, Stubborn.closed) == ([True], [True])


def test_a_check_does_not_treat_running_instances_as_new(tmp_path: Path, prometheus: str) -> None:
    """The daemon ignores CPU samples of starting instances; a check has no earlier cycle to compare with."""
    query = " or ".join(_CPU.format(name) for name in ("w1", "w2", "stranger"))
    scalers = [autoscaler("fine", query, "odd", metrics=[cpu(query)])]
    found = examined(write_config(tmp_path, prometheus, scalers, {"odd": {"type": "stubborn"}}))["fine"]
    assert line(found, "target") == ("size 2, 2 instances: 2 ready", False)
    text, wrong = line(found, "cpu")
    assert not wrong
    assert text.startswith("90% of 60%, ")
    assert text.endswith('; 1 sample matches no instance: instance="stranger"')
    assert line(found, "now") == ("cpu 90% of 60% asks for 3", False)


@pytest.mark.parametrize(
    ("broken", "said"),
    [("expected", "token.txt is absent; write it"), ("badly", "cannot be built: ZeroDivisionError at ")],
)
def test_an_adapter_that_cannot_be_built_is_reported(tmp_path: Path, prometheus: str, broken: str, said: str) -> None:
    """The queries are still sent. For an unexpected exception only the class is shown."""
    scalers = [autoscaler("fine", "vector(3)", "odd")]
    section = {"odd": {"type": "stubborn", "broken": broken}}
    found = examined(write_config(tmp_path, prometheus, scalers, section))
    for text, wrong in (line(found["connections"], "adapter odd"), line(found["fine"], "target")):
        assert wrong
        assert said in text
        assert "secret" not in text
    assert line(found["connections"], "prometheus default")[0].startswith("1 query answered")


def test_an_adapter_and_a_prometheus_that_hang_are_named(tmp_path: Path, prometheus: str) -> None:
    """The other autoscalers are still shown."""
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        sources = {"default": {"url": prometheus}, "mute": {"url": f"http://127.0.0.1:{silent.getsockname()[1]}"}}
        scalers = [
            autoscaler("fine", "vector(3)", "odd"),
            autoscaler("hanging", "vector(3)", "slow"),
            autoscaler("unasked", "vector(3)", "odd"),
        ]
        scalers[2]["metrics"][0]["external"]["query"]["prometheus"] = "mute"
        adapters = {"odd": {"type": "stubborn"}, "slow": {"type": "stubborn"}}
        found = examined(write_config(tmp_path, sources, scalers, adapters), seconds=12)
    assert not found["fine"].wrong
    assert line(found["hanging"], "target") == ("adapter 'slow' did not answer before the cycle's deadline", True)
    text, wrong = line(found["connections"], "prometheus mute")
    assert wrong
    assert text.startswith("0 queries answered; 1 failed: prometheus 'mute' ")


def test_a_query_that_no_cycle_has_the_time_for_is_wrong(tmp_path: Path, prometheus: str) -> None:
    """In a cycle of 1.8 s, two thirds are for observing."""
    file = write_config(tmp_path, prometheus, [autoscaler("web", "vector(3)", syncPeriod="2s")])
    scalers = load(file).autoscalers
    queries = live._Queries()
    queries.count("default", 1.1, None)
    assert [each.wrong for each in queries.findings(["default"], scalers)] == [False]
    queries.count("default", 1.31, None)
    (found,) = queries.findings(["default"], scalers)
    assert found.wrong
    assert found.text == (
        "2 queries answered, the slowest in 1.31 s; "
        "a syncPeriod of 2s gives a query at most 1.2 s; raise it, or write a cheaper expression"
    )


def test_unused_connections_are_tried(tmp_path: Path, prometheus: str) -> None:
    """An operator has added them in order to use them."""
    sources = {"default": {"url": prometheus}, "down": {"url": f"http://127.0.0.1:{free_port()}"}}
    adapters = {"odd": {"type": "stubborn"}, "spare": {"type": "stubborn", "broken": "expected"}}
    found = examined(write_config(tmp_path, sources, [autoscaler("fine", "vector(3)", "odd")], adapters))["connections"]
    assert "Connection refused" in line(found, "prometheus down")[0]
    assert line(found, "adapter spare") == ("token.txt is absent; write it", True)


def test_prometheus_decides_about_an_expression_that_the_parser_cannot_read(tmp_path: Path, prometheus: str) -> None:
    """Without --live both are warnings. Prometheus is not asked for what no autoscaler uses."""
    scalers = [autoscaler("taken", _NOT_READ_HERE)]
    config = write_config(tmp_path, prometheus, scalers, queries={"spare": {"expr": "fresh_function(vector(3))"}})
    path = "autoscalers[0].metrics[0].external.query.expr"
    code, out = check(config)
    assert (code, f"warning: {path}: " in out, "warning: queries.spare.expr: " in out) == (0, True, True)
    code, out = check(config, "--live")
    assert (code, f"warning: {path}: " in out, "warning: queries.spare.expr: " in out) == (0, False, True)


def test_a_refused_query_is_told_once(tmp_path: Path, prometheus: str) -> None:
    """Prometheus works, and the words stand where the query is used."""
    scalers = [autoscaler("wrong", "vector(3) and"), autoscaler("fine", "vector(3)")]
    config = write_config(tmp_path, prometheus, scalers)
    found = examined(config)
    assert {name: block.wrong for name, block in found.items()} == {"connections": False, "wrong": True, "fine": False}
    said, wrong = line(found["connections"], "prometheus default")
    assert (said.endswith("; 1 refused, see below"), wrong) == (True, False)
    assert "parse error" in line(found["wrong"], "queue")[0]
    code, out = check(config, "--live")
    assert (code, out.count("parse error")) == (1, 1)


def test_strict_accepts_an_expression_that_prometheus_accepts(tmp_path: Path, prometheus: str) -> None:
    config = write_config(tmp_path, prometheus, [autoscaler("taken", _NOT_READ_HERE)])
    assert check(config, "--strict")[0] == 1
    assert check(config, "--strict", "--live")[0] == 0


def test_a_missing_secret_is_an_error_with_live(tmp_path: Path, prometheus: str) -> None:
    """`run` would refuse to start."""
    sources = {"default": {"url": prometheus}, "other": {"url": prometheus, "bearerTokenFile": "none"}}
    code, out = check(write_config(tmp_path, sources, [autoscaler("web", "vector(3)")]), "--live")
    assert code == 1
    assert f"\nfiles: would not work\n  prometheus.other.bearerTokenFile  {tmp_path}/none is missing" in out


@pytest.mark.parametrize(("content", "wrong"), [(None, False), ("hello", True)], ids=["absent", "no database"])
def test_the_state_is_examined(content: str | None, wrong: bool, tmp_path: Path, prometheus: str) -> None:
    """A check that said that all would work was followed by a daemon that did not start."""
    state = tmp_path / "state" / "state.db"
    if content is not None:
        state.parent.mkdir()
        state.write_text(content)
    before = sorted(tmp_path.rglob("*"))
    config = write_config(tmp_path, prometheus, [autoscaler("web", "vector(3)")])
    found = examined(config)["connections"]
    text = (
        ": it is not an SQLite database; move it away, or correct state.url" if wrong else ", which the daemon creates"
    )
    assert line(found, "state") == (f"{state}{text}", wrong)
    assert found.wrong is wrong
    assert sorted({*tmp_path.rglob("*")} - {config}) == before
