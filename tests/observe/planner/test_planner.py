"""Which questions are merged."""

import random

from autoscaler.observe.plan import Question
from autoscaler.observe.planner.merge import Limits
from autoscaler.observe.planner.planner import Planner
from tests.observe.planner.build import SOURCE, ask, each, only, plan


def texts(found: list[Question], limits: Limits | None = None) -> list[str]:
    return [query.expr for query in plan(found, limits)]


def pairs(template: str, *values: tuple[str, str]) -> list[Question]:
    return [ask(template.replace("$1", f'"{first}"').replace("$2", f'"{second}"')) for first, second in values]


def test_questions_to_different_servers_are_not_merged() -> None:
    questions = [*each("a{g=$}", "x", "y"), Question("other", 'a{g="z"}')]
    assert [(query.prometheus, query.expr) for query in plan(questions)] == [
        (SOURCE, 'a{g=~"x|y"}'),
        ("other", 'a{g="z"}'),
    ]


def test_the_order_of_questions_does_not_change_the_text() -> None:
    questions = each("sum(a{g=$}) / 2", *(f"v{number}" for number in range(100)))
    expected = texts(questions)
    for seed in range(5):
        random.Random(seed).shuffle(questions)
        assert texts(questions) == expected


def test_two_spellings_of_one_question_share_an_answer() -> None:
    """Questions that differ only in quoting have the same key."""
    query = only(plan([ask("a{g='x'}"), ask('a{g="x"}'), ask("a{g=`y`}")]))
    assert query.expr == 'a{g=~"x|y"}'
    assert query.members == {("x",): (ask("a{g='x'}"), ask('a{g="x"}')), ("y",): (ask("a{g=`y`}"),)}


def test_two_spellings_alone_are_asked_once() -> None:
    query = only(plan([ask("absent(a{g='x'})"), ask('absent(a{g="x"})')]))
    assert (query.expr, query.form, query.reason) == ("absent(a{g='x'})", None, "no other question has the same form")
    assert len(list(query.questions)) == 2


def test_a_repeated_question_is_planned_once() -> None:
    assert len(list(only(plan([ask("a"), ask("a")])).questions)) == 1


def test_no_query_has_too_many_values() -> None:
    assert texts(each("a{g=$}", *"edcba"), Limits(values=2)) == ['a{g=~"a|b"}', 'a{g=~"c|d"}', 'a{g="e"}']


def test_no_query_is_too_long() -> None:
    """In bytes, including escapes and further matchers."""
    questions = each("sum(a{g=$}) / sum(b{g=$})", *(f"ü.{number:03}" for number in range(200)))
    found = texts(questions, Limits(text_bytes=500))
    assert all(len(text.encode()) <= 500 for text in found)
    assert sum(len(text.encode()) for text in found[:-1]) > 450 * (len(found) - 1)


def test_a_query_may_have_exactly_as_many_bytes_as_the_limit() -> None:
    whole = 'sum by (g) (a{g=~"x|y"}) / sum by (g) (b{g=~"x|y"})'
    questions = each("sum(a{g=$}) / sum(b{g=$})", "x", "y")
    assert texts(questions, Limits(text_bytes=len(whole))) == [whole]
    assert len(texts(questions, Limits(text_bytes=len(whole) - 1))) == 2


def test_a_label_with_few_values_gets_a_query_per_value() -> None:
    questions = pairs("a{g=$1,env=$2}", *((f"v{number:02}", "tp"[number % 2]) for number in range(20)))
    even, odd = ("|".join(f"v{number:02}" for number in range(start, 20, 2)) for start in (0, 1))
    assert texts(questions) == [f'a{{g=~"{even}",env="t"}}', f'a{{g=~"{odd}",env="p"}}']


def test_a_label_that_follows_from_another_is_merged_with_it() -> None:
    """A job and its group: one query for each job would merge nothing."""
    query = only(plan(pairs("sum(a{job=$1,group=$2})", ("j1", "g1"), ("j2", "g2"), ("j3", "g1"))))
    assert query.expr == 'sum by (job, group) (a{job=~"j1|j2|j3",group=~"g1|g2"})'
    assert set(query.members) == {("j1", "g1"), ("j2", "g2"), ("j3", "g1")}


def test_labels_in_all_combinations_are_merged_over_one() -> None:
    questions = pairs("a{x=$1,y=$2}", *((f"x{first}", f"y{second}") for first in range(4) for second in range(3)))
    assert texts(questions) == [f'a{{x=~"x0|x1|x2|x3",y="y{second}"}}' for second in range(3)]


def test_a_label_with_two_values_is_two_variables() -> None:
    template = 'sum(a{code="500",g=$}) / sum(a{code="200",g=$})'
    assert only(plan(each(template, "x", "y"))).expr == (
        'sum by (g) (a{code="500",g=~"x|y"}) / sum by (g) (a{code="200",g=~"x|y"})'
    )


def test_a_question_that_is_asked_alone_is_not_merged() -> None:
    questions = each("a{g=$}", *"abc")
    queries = Planner().plan(questions, [questions[0]])
    assert [query.expr for query in queries] == ['a{g="a"}', 'a{g=~"b|c"}']
    assert queries[0].reason == "it is excluded from merging"


def test_the_same_questions_get_the_cached_plan() -> None:
    planner = Planner()
    first, other = each("a{g=$}", "x", "y"), each("a{g=$}", "x", "z")
    found = planner.plan(first)
    planner.plan(other)
    assert planner.plan(list(first)) is found


def test_a_planners_cache_changes_no_plan() -> None:
    """Autoscalers come and go, and the plan equals that of a new planner."""
    planner = Planner()
    for number in range(30):
        questions = each("sum(a{g=$})", *(f"v{number + more}" for more in range(200)))
        assert planner.plan(questions) == Planner().plan(questions)


def test_a_planner_keeps_what_it_read_of_a_few_other_questions() -> None:
    """Autoscalers with different sync periods ask in turn, and a reload changes a few questions."""
    planner = Planner()
    planner.plan(each("a{g=$}", "x", "y"))
    planner.plan(each("a{g=$}", "x", "z"))
    assert len(planner._readings) == 3


def test_a_planner_forgets_old_questions() -> None:
    planner = Planner()
    for number in range(60):
        planner.plan(each("sum(a{g=$})", *(f"v{number}-{more}" for more in range(100))))
    assert len(planner._readings) < 2000
