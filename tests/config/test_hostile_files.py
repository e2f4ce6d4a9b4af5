"""`check` runs in hooks and editors on other people's files, and must end quickly with few lines."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from autoscaler.cli.app import app
from autoscaler.cli.output import MAX_PROBLEMS
from autoscaler.fields.promql import MAX_OPERATORS

pytestmark = pytest.mark.slow

_SECONDS: Final = 40.0
"""CPU time. Each file takes up to three seconds on a quiet machine, and a minute or more without its limit."""
_POOL: Final = "{adapter: local, name: p}"
_WIDE: Final = r"\\w"


def scalers(count: int, query: str, ref: str = _POOL) -> str:
    """Return this many autoscalers; `#` in the query and the target is the number of each."""
    target = "{type: AverageValue, averageValue: 1}"
    body = f"{{type: Pods, pods: {{metric: {{name: m}}, query: {{{query}}}, target: {target}}}}}"
    line = f"- {{name: a#, scaleTargetRef: {ref}, maxReplicas: 2, metrics: [{body}]}}\n"
    return "autoscalers:\n" + "".join(line.replace("#", str(number)) for number in range(count))


def queries(count: int, keys: str) -> str:
    """Return this many shared queries; `#` is the number of each."""
    line = f" query-#-of-shop: {{{keys}}}\n"
    return "queries:\n" + "".join(line.replace("#", str(number)) for number in range(count))


def pools(names: Iterable[str]) -> str:
    return (
        f"adapters: {{local: {{type: process, pools: {{{', '.join(f'{name}: {{command: x}}' for name in names)}}}}}}}\n"
    )


_ONE: Final = pools(["p"])
_NONE: Final = "autoscalers: []\n"
_WRONG: Final = "autoscalers: {}\n"
FILES: Final = {
    "16 KB each": _ONE + _NONE + queries(250, f"expr: 'm#{'+a' * 8000}'"),
    "as many operators as may be": _ONE + _NONE + queries(700, f"expr: 'm#{'+a' * MAX_OPERATORS}'"),
    "wide regular expressions": _ONE + _NONE + queries(5000, f"""expr: 'x{{a=~"#{_WIDE}{{90}}"}}'"""),
    "long texts": _ONE + _NONE + queries(80, f"""expr: 'x{{a="{"y" * 60_000}#"}}'"""),
    "a text that ends in an incomplete escape": _ONE + _NONE + queries(10, "expr: '#+" + '"\\' * 30_000 + "'"),
    "a text without end": _ONE + _NONE + queries(10, "expr: '#+\"" + r"\"" * 30_000 + "'"),
    "one long expression": _ONE
    + scalers(2000, "ref: query-0-of-shop, maxAge: 1m")
    + queries(1, f"expr: 'a{'+a' * 400}'"),
    "misspelt functions": _ONE + _NONE + queries(6000, "expr: 'raet(x#[5m])'"),
    "calls with wrong arguments": _ONE + _NONE + queries(800, f"expr: 'm#{'+rate(x)' * 160}'"),
    "a wrong call among many": _ONE + _NONE + queries(1000, f"expr: '{'abs(' * 90}abs(1)+m#{')' * 90}'"),
    "digits": _ONE + _WRONG + queries(400, f"expr: 'x#{'1' * 8000} y'"),
    "spaces": _ONE + _WRONG + queries(400, f"expr: 'x#{' ' * 8000} y'"),
    "unknown keys": _ONE + _NONE + queries(6000, "expr: up, exprr: x"),
    "unknown keys of a thousand letters": _ONE + _NONE + queries(6000, f"expr: up, {'k' * 1000}#: x"),
    "a key of a megabyte": _ONE + _NONE + queries(1, f"expr: up, ? {'k' * 2**20} : x"),
    "unknown queries among many": _ONE + scalers(2500, "ref: query-#-of-shops") + queries(2500, "expr: up"),
    "unknown pools among many": pools(f"p{n}" for n in range(2500))
    + scalers(2500, "expr: up", "{adapter: local, name: x#}"),
    "names of a megabyte": _ONE + scalers(1, "expr: up", f"{{adapter: {'x' * 2**20}, name: {'y' * 2**20}}}"),
    "one target": _ONE + scalers(4000, "expr: up"),
}  # fmt: skip - one line for each file


UNKNOWN: Final = {
    "short ones": "expr: 'x# offset (1h / 2)'",
    "long ones": f"""expr: 'rate(x{{a="{"y" * 1000}#"}}[1m] anchored)'""",
    "short ranges": "expr: 'rate(x#[5])'",
    "functions of newer versions": "expr: 'functionofnewerversion#(x)'",
}


@pytest.mark.parametrize("keys", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_check_reads_many_unknown_expressions_in_seconds(tmp_path: Path, keys: str) -> None:
    """Each is a warning, and the last line says that the file is valid."""
    file = tmp_path / "hostile.yaml"
    file.write_text(_ONE + _NONE + queries(4000, keys))
    started = time.process_time()
    result = CliRunner().invoke(app, ["check", str(file)])
    assert time.process_time() - started < _SECONDS
    *_, more, last = lines = result.stdout.splitlines()
    assert (result.exit_code, len(lines)) == (0, MAX_PROBLEMS + 2)
    assert more.startswith("and 3,000 more")
    assert last.endswith(": ok, 0 autoscalers, 0 queries")


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_check_ends_in_seconds_with_few_lines(tmp_path: Path, text: str) -> None:
    """A single expression of 40 KB once took 11 s."""
    file = tmp_path / "hostile.yaml"
    file.write_text(text)
    started = time.process_time()
    result = CliRunner().invoke(app, ["check", str(file)])
    took = time.process_time() - started
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    lines = result.stdout.splitlines()
    assert took < _SECONDS
    assert len(lines) <= MAX_PROBLEMS + 1
    assert sum(map(len, lines)) < 2**20
    assert ("more; correct these first" in lines[-1]) == (len(lines) > MAX_PROBLEMS)
