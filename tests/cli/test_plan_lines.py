"""The output of `autoscaler check --plan`."""

from autoscaler.cli.plan import lines
from tests.observe.planner.build import ask, each, plan


def test_the_plan_lists_queries_and_reasons_for_not_merging() -> None:
    questions = [*each("sum(a{g=$})", "x", "y", "z"), *each("absent(b{g=$})", "x", "y"), ask("up\n  # all of it")]
    assert list(lines(plan(questions))) == [
        "6 questions in 4 queries",
        "",
        "prometheus default: 3 questions merged, split by g:",
        '  sum by (g) (a{g=~"x|y|z"})',
        '  among them: sum(a{g="x"})',
        '  among them: sum(a{g="z"})',
        "",
        "as written, 1: it has no equality matcher",
        "  prometheus default: up # all of it",
        "",
        "as written, 2: absent() is not one of the functions that can be merged",
        '  prometheus default: absent(b{g="x"})',
        '  prometheus default: absent(b{g="y"})',
    ]


def test_a_long_query_is_shortened() -> None:
    found = list(lines(plan(each("a{g=$}", *(f"value-{number:03}" for number in range(200))))))
    assert found[3].endswith("… (2007 characters)")
    assert len(found[3]) < 350
