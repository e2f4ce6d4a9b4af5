"""`autoscaler check`, as a shell sees it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autoscaler.cli.app import app

GOOD = """\
autoscalers:
  - name: w
    scaleTargetRef: {adapter: local, name: p}
    minReplicas: 0
    maxReplicas: 2
    metrics:
      - {type: External, external: {metric: {name: q}, query: {expr: q}, target: {type: Value, value: 1}}}
      - {type: Resource, resource: {name: cpu, query: {expr: c}, request: {query: {expr: q}},
         target: {type: Utilization, averageUtilization: 60}}}
adapters: {local: {type: process, pools: {p: {command: [sleep, "9"]}}}}
"""


def run(*arguments: str | Path) -> tuple[int, str]:
    """Exit code and standard output."""
    result = CliRunner().invoke(app, [*map(str, arguments)])
    return result.exit_code, result.stdout


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A file without a mistake."""
    file = tmp_path / "good.yaml"
    file.write_text(GOOD)
    return file


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """A file with two."""
    file = tmp_path / "bad.yaml"
    file.write_text("web: {listenAdress: x}\n")
    return file


def test_a_right_file_is_one_line_and_exit_0(good: Path) -> None:
    """Queries are counted once however many use them."""
    assert run("check", good) == (0, f"{good}: ok, 1 autoscaler, 2 queries\n")


def test_a_fallbacks_query_is_counted(good: Path) -> None:
    """It is asked in every cycle, like the others."""
    good.write_text(GOOD.replace("request: {query: {expr: q}}", "request: 1, fallback: {query: {expr: f}}"))
    assert run("check", good) == (0, f"{good}: ok, 1 autoscaler, 3 queries\n")


def test_each_error_is_one_line_and_the_exit_code_1(bad: Path) -> None:
    """Editors and CI read these lines."""
    code, out = run("check", bad)
    assert code == 1
    assert out.splitlines() == [
        f"{bad}:1:1: autoscalers: is missing; add it",
        f"{bad}:1:7: web.listenAdress: unknown key; did you mean `listenAddress`?",
    ]


def test_an_expression_of_unknown_syntax_is_a_warning_and_exit_0(good: Path) -> None:
    """Prometheus may be newer than what reads it here. Its place is named, and how to find out."""
    good.write_text(GOOD.replace("expr: c}", "expr: 'rate(c[1m] anchored)'}"))
    code, out = run("check", good)
    assert code == 0
    warning, last = out.splitlines()
    assert warning == (
        f"{good}:8:62: warning: autoscalers[0].metrics[1].resource.query.expr: the offline parser cannot "
        "read it (invalid promql query), but Prometheus may; run `autoscaler check --live` to ask Prometheus"
    )
    assert last == f"{good}: ok, 1 autoscaler, 2 queries"


def test_with_strict_a_warning_is_an_error(good: Path) -> None:
    """A pipeline that builds configurations stops at what people would only read."""
    assert run("check", "--strict", good) == (0, f"{good}: ok, 1 autoscaler, 2 queries\n")
    good.write_text(GOOD.replace("expr: c}", "expr: 'rate(c[5])'}"))
    code, out = run("check", "--strict", good)
    assert code == 1
    assert out == (
        f"{good}:8:62: autoscalers[0].metrics[1].resource.query.expr: the duration 5 has no unit: Prometheus 3 "
        "reads seconds, and Prometheus 2 refuses it; write 5s\n"
    )


def test_a_share_of_what_no_worker_has_is_an_error(good: Path) -> None:
    """The metric would fail in every cycle. In raw units nothing is missing."""
    share = GOOD.replace("request: {query: {expr: q}},", "")
    good.write_text(share)
    code, out = run("check", good)
    assert code == 1
    assert out.startswith(
        f"{good}:8:36: autoscalers[0].metrics[1].resource.request: is missing; Utilization is a share"
    )
    good.write_text(
        share.replace("{type: Utilization, averageUtilization: 60}", "{type: AverageValue, averageValue: 1}")
    )
    assert run("check", good)[0] == 0


def test_warnings_are_printed_beside_errors(good: Path) -> None:
    """Who mends the error should not meet the warnings one run later."""
    wrong = GOOD.replace("maxReplicas: 2", "maxReplicas: none").replace("name: w", "name: bad")
    warned = GOOD[GOOD.index("  - name") : GOOD.index("adapters:")].replace("expr: c}", "expr: sum(c)}")
    pools = "adapters: {local: {type: process, pools: {p: {command: x}, o: {command: x}}}}\n"
    good.write_text(
        wrong[: wrong.index("adapters:")]
        + warned.replace("p}", "o}")
        + pools
        + "queries: {q: {expr: 'up offset (1h / 2)'}, r: {window: 5m}}\n"
        + "prometheus: {default: {url: 'http://h', bearerTokenFile: none}}\n"
    )
    code, out = run("check", good)
    assert code == 1
    places = [line.removeprefix(f"{good}:").split(": ")[:3] for line in out.splitlines()]
    assert places == [
        ["5:18", "autoscalers[0].maxReplicas", "expected a whole number, found the text 'none'; write a whole number"],
        ["19:47", "queries.r.expr", "is missing; add it"],
        ["16:62", "warning", "autoscalers[1].metrics[1].resource.query.expr"],
        ["19:21", "warning", "queries.q.expr"],
        ["20:58", "warning", "prometheus.default.bearerTokenFile"],
    ]


def test_several_files_are_all_checked(good: Path, bad: Path) -> None:
    """A wrong one does not hide the next."""
    code, out = run("check", bad, good)
    assert code == 1
    assert out.splitlines()[-1] == f"{good}: ok, 1 autoscaler, 2 queries"


def test_without_a_file_the_configuration_is_checked(bad: Path) -> None:
    """The same option names it as for `run`."""
    assert run("check", "--config.file", bad)[1].startswith(f"{bad}:1:1: ")


def test_a_targets_file_without_a_folder_is_a_warning_and_exit_0(good: Path) -> None:
    """It may be there where the daemon runs; where it is not, Prometheus learns of no worker."""
    pool = "adapters: {local: {type: process, pools: {p: {command: a, ports: 1-2, targetsFile: none/p.json}}}}"
    good.write_text(re.sub("adapters: .*", pool, GOOD))
    code, out = run("check", good)
    assert code == 0
    assert out.splitlines()[0] == (
        f"{good}:10:84: warning: adapters.local.pools.p.targetsFile: the folder {good.parent}/none does not exist; "
        "create it, writable for the daemon"
    )


def test_an_absent_secret_is_a_warning_and_exit_0(good: Path) -> None:
    """It may be there where the daemon runs."""
    good.write_text(GOOD + "prometheus: {default: {url: 'http://h', bearerTokenFile: none}}\n")
    code, out = run("check", good)
    assert code == 0
    assert out.startswith(f"{good}:11:58: warning: prometheus.default.bearerTokenFile: {good.parent}/none is missing")
    assert len(out.splitlines()) == 2


@pytest.mark.parametrize("arguments", [["check", "--bogus"], ["bogus"], []])
def test_wrong_arguments_exit_2(arguments: list[str]) -> None:
    """Apart from what was asked for and failed."""
    assert run(*arguments)[0] == 2


def test_the_overview_names_every_command() -> None:
    """It is the first thing that anybody sees."""
    code, out = run("--help")
    assert code == 0
    assert re.search("check +Check configuration files", out)
    assert re.search("run +Run the daemon", out)


def test_the_version_is_shown() -> None:
    """Bug reports need it."""
    code, out = run("--version")
    assert code == 0
    assert out.startswith("autoscaler 0.")


@pytest.mark.parametrize("arguments", [["--help"], ["check"]])
def test_a_command_imports_only_what_it_needs(good: Path, arguments: list[str]) -> None:
    """`check` runs in editors and hooks: it starts in a fraction of the time of the daemon's parts."""
    heavy = ["sqlalchemy", "apscheduler", "starlette", "uvicorn", "boto3", "docker", "requests", "rich", "structlog"]
    script = (
        "import sys\nfrom autoscaler.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"print(*(name for name in {heavy} if name in sys.modules), file=sys.stderr)"
    )
    files = [str(good)] if arguments == ["check"] else []
    ended = subprocess.run(
        [sys.executable, "-c", script, *arguments, *files], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stderr.strip() == ""


@pytest.mark.parametrize(("maximum", "fine"), [(2, True), (3, False)])
def test_a_pool_with_fewer_ports_than_it_may_have_workers_is_an_error(good: Path, maximum: int, fine: bool) -> None:
    """It would stop growing when the load is highest, and say so only then."""
    text = GOOD.replace('command: [sleep, "9"]', 'command: [sleep, "9"], ports: 20000-20001')
    good.write_text(text.replace("maxReplicas: 2", f"maxReplicas: {maximum}"))
    code, out = run("check", good)
    assert (code == 0) == fine
    if not fine:
        assert out == (
            f"{good}:5:18: autoscalers[0].maxReplicas: 3 workers need as many ports, and pool 'p' has 2 (20000-20001); "
            "widen its `ports` by 1 or more (a worker that stops keeps its port until it has ended), or lower "
            "maxReplicas\n"
        )
