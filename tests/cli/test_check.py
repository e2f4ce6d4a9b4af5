"""`autoscaler check` without --live."""

from pathlib import Path

import pytest

from tests.cli.checking import GOOD, run


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A file without errors."""
    file = tmp_path / "good.yaml"
    file.write_text(GOOD)
    return file


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """A file with two errors."""
    file = tmp_path / "bad.yaml"
    file.write_text("web: {listenAdress: x}\n")
    return file


def test_a_valid_file_prints_one_line_and_exits_0(good: Path) -> None:
    """A query that two metrics use is counted once."""
    assert run("check", good) == (0, f"{good}: ok, 1 autoscaler, 2 queries\n")


def test_the_query_of_a_fallback_is_counted(good: Path) -> None:
    """The daemon sends it in every cycle."""
    good.write_text(GOOD.replace("request: {query: {expr: q}}", "request: 1, fallback: {query: {expr: f}}"))
    assert run("check", good) == (0, f"{good}: ok, 1 autoscaler, 3 queries\n")


def test_each_error_prints_one_line_and_the_exit_code_is_1(bad: Path) -> None:
    """Editors and CI parse these lines."""
    code, out = run("check", bad)
    assert code == 1
    assert out.splitlines() == [
        f"{bad}:1:1: autoscalers: is missing; it has no default",
        f"{bad}:1:7: web.listenAdress: unknown key; did you mean `listenAddress`?",
    ]


@pytest.mark.parametrize(
    ("old", "new", "warning"),
    [
        (
            "expr: c}",
            "expr: 'rate(c[1m] anchored)'}",
            ":8:62: warning: autoscalers[0].metrics[1].resource.query.expr: the offline parser cannot read it",
        ),
    ],
)
def test_a_warning_exits_0(good: Path, old: str, new: str, warning: str) -> None:
    """The daemon's machine may have the files, and Prometheus may know the expression."""
    good.write_text(GOOD.replace(old, new))
    code, out = run("check", good)
    assert code == 0
    first, last = out.splitlines()
    assert first.startswith(f"{good}{warning.format(folder=good.parent)}")
    assert last == f"{good}: ok, 1 autoscaler, 2 queries"


def test_strict_turns_warnings_into_errors(good: Path) -> None:
    """A CI pipeline then stops at a warning."""
    assert run("check", "--strict", good) == (0, f"{good}: ok, 1 autoscaler, 2 queries\n")
    good.write_text(GOOD.replace("expr: c}", "expr: 'rate(c[5])'}"))
    code, out = run("check", "--strict", good)
    assert code == 1
    assert out == (
        f"{good}:8:62: autoscalers[0].metrics[1].resource.query.expr: the duration 5 has no unit: Prometheus 3 "
        "reads seconds, and Prometheus 2 refuses it; write 5s\n"
    )


NAMELESS = (
    "the query's samples have no label alloc_id or task_id or container_id or instance_id or instance, which would "
    "name an instance; write sum by (instance) (…), or use a metric of type External"
)


def test_check_prints_warnings_and_errors_together(good: Path) -> None:
    """The operator can then correct both before the next run."""
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
        [
            "16:62",
            "autoscalers[1].metrics[1].resource.query.expr",
            NAMELESS,
        ],
        ["19:47", "queries.r.expr", "is missing; it has no default"],
        ["19:21", "warning", "queries.q.expr"],
        ["20:58", "warning", "prometheus.default.bearerTokenFile"],
    ]


def test_check_reads_every_file_after_an_invalid_one(good: Path, bad: Path) -> None:
    code, out = run("check", bad, good)
    assert code == 1
    assert out.splitlines()[-1] == f"{good}: ok, 1 autoscaler, 2 queries"


def test_check_reads_the_file_that_config_file_names(bad: Path) -> None:
    """The option has the same name as in `run`."""
    assert run("check", "--config.file", bad)[1].startswith(f"{bad}:1:1: ")


def test_a_command_is_required() -> None:
    """Scripts can tell this from a failed command."""
    assert run()[0] == 2


@pytest.mark.parametrize(("maximum", "fine"), [(2, True), (3, False)])
def test_a_pool_with_fewer_ports_than_workers_is_an_error(good: Path, maximum: int, fine: bool) -> None:
    """The daemon would report it only when the load is highest and the pool cannot grow."""
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


def test_the_files_of_teams_are_checked_with_the_main_file(tmp_path: Path) -> None:
    """Each error has its place; the main file by itself is right."""
    main, team = tmp_path / "autoscaler.yaml", tmp_path / "autoscalers.d" / "shop"
    team.mkdir(parents=True)
    grant = "{namePrefix: shop-, maxReplicas: 5}"
    main.write_text(f"autoscalers: []\nautoscalersDir: autoscalers.d\ngrants: {{shop: {grant}}}\n")
    (team / "web.yaml").write_text("- name: web\n  maxReplica: 1\n")
    code, out = run("check", main)
    assert code == 1
    assert f"{team / 'web.yaml'}:2:3: autoscalers[0].maxReplica: unknown key; did you mean `maxReplicas`?\n" in out
    (team / "web.yaml").unlink()
    assert run("check", main) == (0, f"{main}: ok, 0 autoscalers, 0 queries\n")
