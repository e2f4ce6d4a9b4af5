"""`autoscaler check --live`, against real servers."""

import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from autoscaler.cli import live
from autoscaler.cli.findings import Findings
from autoscaler.clock import SystemClock
from autoscaler.config import load
from autoscaler.target import installed
from autoscaler.target.contract import RecordingLogger
from autoscaler.target.registry import GROUP
from tests.cli.stubborn import Stubborn
from tests.daemon.running import autoscaler, finished, running_daemon, workers, write_config
from tests.servers.docker import running_engine
from tests.servers.nomad import running_nomad, service
from tests.servers.ports import free_port
from tests.servers.prometheus import running_prometheus

pytestmark = pytest.mark.slow

_CPU = 'label_replace(vector(0.9), "instance", "{}", "", "")'
_NOT_READ_HERE: Final = "vector(3) or sum by (anchored) (x)"
"""promql-parser takes the label for a keyword."""


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_prometheus(tmp_path_factory.mktemp("prometheus")) as server:
        yield server.url


@pytest.fixture(autouse=True)
def stubborn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The adapter type `stubborn`; a state folder of the test's own; and no long wait for what hangs."""
    entry = EntryPoint("stubborn", "tests.cli.stubborn:Stubborn", GROUP)
    for module in ("autoscaler.target.registry", "autoscaler.config.connections"):
        monkeypatch.setattr(f"{module}.installed", lambda: dict(installed()) | {"stubborn": entry})
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    monkeypatch.setattr(live, "_CYCLE_SECONDS", 3.0)


def cpu(expr: str) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": 60}
    return {"type": "Resource", "resource": {"name": "cpu", "query": {"expr": expr}, "request": 1, "target": target}}


def examined(config: Path) -> Mapping[str, Findings]:
    """By the beginning of their titles."""
    blocks = live.examine(load(config), SystemClock(), RecordingLogger())
    return {block.title.split(" ")[0]: block for block in blocks}


def line(block: Findings, label: str) -> tuple[str, bool]:
    """Its text, and whether it is wrong."""
    return next((line.text, line.wrong) for line in block.lines if line.label == label)


def check(config: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and output of the command in a process of its own."""
    done = finished([sys.executable, "-m", "autoscaler", "check", *arguments, str(config)], config.parent / "state")
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout


def test_beside_a_running_daemon_it_sees_the_workers_and_disturbs_nothing(tmp_path: Path, prometheus: str) -> None:
    """The pool's records are the daemon's: they are read, and neither locked nor changed."""
    port = free_port()
    query = _CPU.format(f"127.0.0.1:{port}")
    target = {"type": "AverageValue", "averageValue": 1}
    pods = {"metric": {"name": "load"}, "query": {"expr": query}, "target": target}
    scaler = autoscaler("web", query, metrics=[{"type": "Pods", "pods": pods}], maxReplicas=1)
    config = write_config(tmp_path, prometheus, [scaler])
    config.write_text(config.read_text().replace("command:", f"ports: {port}-{port}\n        command:"))
    with running_daemon(config) as daemon:
        daemon.wait_for("decision", current=1, level="info")
        before = workers(tmp_path)
        code, out = check(config, "--live")
        assert workers(tmp_path) == before
        seen = len(daemon.events("decision"))
        daemon.wait_for("decision", count=seen + 1)
        assert not daemon.events("pools_not_kept")
        daemon.stop()
    assert code == 0, out
    assert "\nconnections: ok\n  prometheus default  1 query answered, the slowest in 0." in out
    assert "\n  adapter local       process, 1 of 1 target read\n" in out
    assert "\nweb on local/web: ok\n  target  size 1, 1 instance: 1 ready\n  load    1 sample joined\n" in out
    assert out.endswith(f"\n{config}: all would work\n")


def test_before_the_daemon_s_first_start_it_leaves_no_trace(tmp_path: Path, prometheus: str) -> None:
    """No state folder, no worker."""
    config = write_config(tmp_path, prometheus, [autoscaler("web", "vector(3)")])
    code, out = check(config, "--live")
    assert code == 0, out
    assert "\n  now     would propose 3: queue asks for 3 (value / target, from zero)\n" in out
    assert not workers(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [config.name]


def test_without_live_nobody_is_asked(tmp_path: Path) -> None:
    """It runs in hooks and in CI, where there are no servers."""
    config = write_config(tmp_path, "http://127.0.0.1:1", [autoscaler("web", "vector(3)")])
    assert check(config) == (0, f"{config}: ok, 1 autoscaler, 1 query\n")


def test_the_last_line_names_what_would_not_work(tmp_path: Path) -> None:
    """It is what stays on the screen of a long check."""
    config = write_config(tmp_path, "http://127.0.0.1:1", [autoscaler("web", "vector(3)")])
    code, out = check(config, "--live")
    assert code == 1
    assert out.endswith(f"\n{config}: would not work: connections, web on local/web\n")


def test_of_many_it_names_the_first(tmp_path: Path) -> None:
    """A line of a thousand names is not read."""
    config = write_config(tmp_path, "http://127.0.0.1:1", [autoscaler(f"web-{n}", "vector(3)") for n in range(7)])
    assert check(config, "--live")[1].endswith("web-3 on local/web-3 and 3 more\n")


def test_a_target_that_cannot_be_scaled_fails_alone(tmp_path: Path, prometheus: str) -> None:
    """The others are shown as they are."""
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
    assert "BoundsConflict: no size is allowed" in line(found["narrow"], "now")[0]
    assert line(found["fine"], "now") == ("would propose 3: queue 1.5/1 (avg)", False)


def test_an_adapter_is_built_for_a_dry_run_and_closed(tmp_path: Path, prometheus: str) -> None:
    """Whatever the file says of dry runs."""
    Stubborn.dry_runs.clear()
    Stubborn.closed.clear()
    scalers = [autoscaler("fine", "vector(3)", "odd")]
    examined(write_config(tmp_path, prometheus, scalers, {"odd": {"type": "stubborn"}}))
    assert (Stubborn.dry_runs, Stubborn.closed) == ([True], [True])


def test_instances_that_nobody_has_seen_before_are_not_taken_for_new(tmp_path: Path, prometheus: str) -> None:
    """Else every cpu sample would count as one of the start-up, and the check would fail."""
    query = " or ".join(_CPU.format(name) for name in ("w1", "w2", "stranger"))
    scalers = [autoscaler("fine", query, "odd", metrics=[cpu(query)])]
    found = examined(write_config(tmp_path, prometheus, scalers, {"odd": {"type": "stubborn"}}))["fine"]
    assert line(found, "target") == ("size 2, 2 instances: 2 ready", False)
    said = '2 samples joined, 1 not, each matching no instance or several: instance="stranger"; w1 is known as w1'
    assert line(found, "cpu") == (said, False)
    assert line(found, "now") == ("would propose 3: cpu 90%/60% (avg)", False)


def test_when_no_sample_joins_it_is_wrong(tmp_path: Path, prometheus: str) -> None:
    """The commonest mistake: labels that name nothing that the back end knows."""
    query = _CPU.format("stranger")
    scalers = [autoscaler("fine", query, "odd", metrics=[cpu(query)])]
    text, wrong = line(
        examined(write_config(tmp_path, prometheus, scalers, {"odd": {"type": "stubborn"}}))["fine"], "cpu"
    )
    assert wrong
    assert text.startswith(
        'no sample matches an instance: the samples have instance="stranger", but w1 is known as w1; '
    )


def test_an_empty_query_is_wrong(tmp_path: Path, prometheus: str) -> None:
    """A metric that does not exist, or a label that is misspelt."""
    scalers = [autoscaler("fine", "no_such_metric", "odd")]
    found = examined(write_config(tmp_path, prometheus, scalers, {"odd": {"type": "stubborn"}}))["fine"]
    text, wrong = line(found, "queue")
    assert wrong
    assert text.startswith("the query returned no sample")


@pytest.mark.parametrize(
    ("broken", "said"),
    [("expected", "token.txt is absent; write it"), ("badly", "cannot be built: ZeroDivisionError at ")],
)
def test_an_adapter_that_cannot_be_built_is_named(tmp_path: Path, prometheus: str, broken: str, said: str) -> None:
    """Its queries are run all the same; of what it raised unexpectedly only the class is shown."""
    scalers = [autoscaler("fine", "vector(3)", "odd")]
    section = {"odd": {"type": "stubborn", "broken": broken}}
    found = examined(write_config(tmp_path, prometheus, scalers, section))
    for text, wrong in (line(found["connections"], "adapter odd"), line(found["fine"], "target")):
        assert wrong
        assert said in text
        assert "secret" not in text
    assert line(found["fine"], "queue") == ("1 sample, sum 3", False)


def test_who_hangs_is_named_and_the_others_are_shown(tmp_path: Path, prometheus: str) -> None:
    """An adapter and a Prometheus that never answer, at once."""
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        sources = {"default": {"url": prometheus}, "mute": {"url": f"http://127.0.0.1:{silent.getsockname()[1]}"}}
        scalers = [
            autoscaler("fine", "vector(3)", "odd"),
            autoscaler("hanging", "vector(3)", "slow"),
            autoscaler("unasked", "vector(3)", "odd"),
        ]
        scalers[2]["metrics"][0]["external"]["query"]["prometheus"] = "mute"
        adapters = {"odd": {"type": "stubborn"}, "slow": {"type": "stubborn"}}
        found = examined(write_config(tmp_path, sources, scalers, adapters))
    assert not found["fine"].wrong
    assert line(found["hanging"], "target") == ("adapter 'slow' did not answer before the cycle's deadline", True)
    text, wrong = line(found["connections"], "prometheus mute")
    assert wrong
    assert text.startswith("0 queries answered; 1 failed: prometheus 'mute' ")


def test_connections_that_nobody_uses_are_tried_too(tmp_path: Path, prometheus: str) -> None:
    """They are in the file because somebody is about to."""
    sources = {"default": {"url": prometheus}, "down": {"url": f"http://127.0.0.1:{free_port()}"}}
    adapters = {"odd": {"type": "stubborn"}, "spare": {"type": "stubborn", "broken": "expected"}}
    found = examined(write_config(tmp_path, sources, [autoscaler("fine", "vector(3)", "odd")], adapters))["connections"]
    assert "Connection refused" in line(found, "prometheus down")[0]
    assert line(found, "adapter spare") == ("token.txt is absent; write it", True)


def test_an_expression_of_unknown_syntax_is_settled_by_asking(tmp_path: Path, prometheus: str) -> None:
    """Offline both are warnings; Prometheus takes the one, and refuses the other. So is one that nobody uses yet."""
    scalers = [autoscaler("taken", _NOT_READ_HERE)]
    config = write_config(tmp_path, prometheus, scalers, queries={"spare": {"expr": "fresh_function(vector(3))"}})
    assert check(config)[0] == 0
    block = examined(config)["expressions"]
    path = "autoscalers[0].metrics[0].external.query.expr"
    assert line(block, path) == ("prometheus 'default' knows its syntax: 1 sample", False)
    said, wrong = line(block, "queries.spare.expr")
    assert wrong
    assert "fresh_function" in said
    code, out = check(config, "--live")
    assert code == 1
    assert "expressions: would not work" in out


def test_with_strict_an_expression_that_prometheus_takes_is_no_error(tmp_path: Path, prometheus: str) -> None:
    """Offline nobody can say; once it is asked, the warning has an answer."""
    config = write_config(tmp_path, prometheus, [autoscaler("taken", _NOT_READ_HERE)])
    assert check(config, "--strict")[0] == 1
    assert check(config, "--strict", "--live")[0] == 0


def test_an_absent_secret_is_no_mere_warning(tmp_path: Path, prometheus: str) -> None:
    """`run` would refuse to start."""
    sources = {"default": {"url": prometheus}, "other": {"url": prometheus, "bearerTokenFile": "none"}}
    code, out = check(write_config(tmp_path, sources, [autoscaler("web", "vector(3)")]), "--live")
    assert code == 1
    assert f"\nfiles: would not work\n  prometheus.other.bearerTokenFile  {tmp_path}/none is missing" in out


def test_a_global_service_of_a_real_swarm_is_told_and_1(tmp_path: Path, prometheus: str) -> None:
    """It runs once on every node, and has no size."""
    with running_engine() as engine, engine.service("agent", Mode={"Global": {}}), engine.service("web"):
        scalers = [autoscaler(name, "vector(1)", "swarm") for name in ("agent", "web")]
        adapters = {"swarm": {"type": "docker-swarm", "host": engine.host}}
        code, out = check(write_config(tmp_path, prometheus, scalers, adapters), "--live")
    assert code == 1
    assert "\nagent on swarm/agent: would not work\n  target  " in out
    assert "global" in out
    assert "\nweb on swarm/web: ok\n" in out


def test_a_system_job_of_a_real_nomad_is_told_and_1(tmp_path: Path, prometheus: str) -> None:
    """It runs once on every node, and has no count."""
    (tmp_path / "nomad").mkdir()
    with running_nomad(tmp_path / "nomad") as nomad:
        nomad.register(service("agent", Type="system"))
        nomad.register(service("web"))
        scalers = [autoscaler(name, "vector(1)", "nomad") for name in ("agent", "web")]
        for scaler in scalers:
            scaler["scaleTargetRef"]["name"] += "/work"
        adapters = {"nomad": {"type": "nomad", "address": nomad.url}}
        code, out = check(write_config(tmp_path, prometheus, scalers, adapters), "--live")
    assert code == 1
    assert "\nagent on nomad/agent/work: would not work\n  target  " in out
    assert "a system job runs once on every node" in out
    assert "\nweb on nomad/web/work: ok\n" in out


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        ({"command": ["no-such-program"]}, "'no-such-program' is not in any folder of PATH "),
        ({"command": ["./worker"]}, "worker does not exist; correct the command"),
        ({"command": ["sleep", "9"], "cwd": "nowhere"}, "nowhere does not exist; correct it, or create it"),
    ],
)
def test_a_command_that_cannot_start_is_found_before_it_is_needed(
    tmp_path: Path, prometheus: str, pool: dict[str, Any], said: str
) -> None:
    """A pool in a dry run starts nothing, so nothing else would tell. Its neighbour is fine."""
    scalers = [autoscaler("web", "vector(3)"), autoscaler("fine", "vector(3)")]
    config = write_config(tmp_path, prometheus, scalers)
    document = yaml.safe_load(config.read_text())
    document["adapters"]["local"]["pools"]["web"] = pool
    config.write_text(yaml.safe_dump(document))
    code, out = check(config)
    assert (code, out.count("ok,")) == (0, 1)
    code, out = check(config, "--live")
    assert code == 1
    (line,) = [line for line in out.splitlines() if line.startswith("  scaling")]
    assert "pool 'web' could not start a worker: " in line
    assert said in line
    assert "web on local/web: would not work" in out
    assert "fine on local/fine: ok" in out
