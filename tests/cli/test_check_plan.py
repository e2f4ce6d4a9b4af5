"""`autoscaler check --plan` prints the queries that are sent and why they are not fewer."""

from pathlib import Path

import yaml

from autoscaler.cli.plan import lines
from tests.cli.checking import run
from tests.daemon.running import autoscaler, external, write_config
from tests.observe.planner.build import each, plan


def test_the_plan_shows_merged_queries_and_why_others_are_not_merged(tmp_path: Path) -> None:
    """It explains the load on Prometheus."""
    merged = [autoscaler(name, f'rate(requests_total{{asg="{name}"}}[2m])') for name in ("api", "pay", "web")]
    alone = autoscaler(
        "top",
        'topk(1, load{asg="top"})',
        metrics=[external('topk(1, load{asg="a"})'), external('topk(1, load{asg="b"})')],
    )
    file = write_config(tmp_path, "http://p", [*merged, alone])
    code, out = run("check", "--plan", file)
    assert code == 0
    assert out.splitlines()[1:] == [
        "",
        "adapter local, every 1s: 5 questions in 3 queries",
        "",
        "  prometheus default: 3 questions merged, split by asg:",
        '    rate(requests_total{asg=~"api|pay|web"}[2m])',
        '    among them: rate(requests_total{asg="api"}[2m])',
        '    among them: rate(requests_total{asg="web"}[2m])',
        "",
        "  as written, 2: topk() is not one of the aggregations that can be merged",
        '    prometheus default: topk(1, load{asg="a"})',
        '    prometheus default: topk(1, load{asg="b"})',
    ]


def test_each_sync_period_has_its_own_plan(tmp_path: Path) -> None:
    """Each is observed in its own batch, and queries are merged only within a batch."""
    scalers = [
        autoscaler(name, f'load{{asg="{name}"}}', syncPeriod=period) for name, period in (("a", "15s"), ("b", "1m"))
    ]
    out = run("check", "--plan", write_config(tmp_path, "http://p", scalers))[1]
    assert [line for line in out.splitlines() if line.startswith("adapter")] == [
        "adapter local, every 15s: 1 question in 1 query",
        "adapter local, every 1m: 1 question in 1 query",
    ]


def test_the_plan_says_that_merge_queries_is_false(tmp_path: Path) -> None:
    scalers = [autoscaler(name, f'load{{asg="{name}"}}') for name in ("a", "b")]
    file = write_config(tmp_path, {"default": {"url": "http://p", "mergeQueries": False}}, scalers)
    assert "  as written, 2: mergeQueries is false" in run("check", "--plan", file)[1].splitlines()


def test_an_invalid_file_prints_errors_and_no_plan(tmp_path: Path) -> None:
    file = write_config(tmp_path, "http://p", [autoscaler("a", "load")])
    file.write_text(yaml.safe_dump({"autoscalers": 7}))
    code, out = run("check", "--plan", file)
    assert (code, len(out.splitlines())) == (1, 1)


def test_a_long_query_is_shortened() -> None:
    found = list(lines(plan(each("a{g=$}", *(f"value-{number:03}" for number in range(200))))))
    assert found[3].endswith("… (2007 characters)")
    assert len(found[3]) < 350
