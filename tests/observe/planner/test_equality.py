"""Merged answers equal single ones in a real Prometheus, label for label and value for value.

PLANNER_EXAMPLES=20000 tries more expressions than the 1,200 of every run.
"""

import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import requests
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.fields.kept_labels import quoted
from autoscaler.observe.plan import Question
from autoscaler.observe.planner.outcome import Outcome, refused
from autoscaler.observe.planner.planner import Planner
from autoscaler.observe.planner.query import PlannedQuery
from autoscaler.observe.planner.split import split
from autoscaler.observe.result import Point, QueryResult, ResultType
from tests.observe.planner.build import ask, each, only, plan
from tests.observe.planner.fleet import ENVIRONMENTS, GHOST, GROUPS, NOW, history
from tests.observe.planner.grammar import ASG, ENV, expressions
from tests.servers.prometheus import openmetrics, running_prometheus

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("PLANNER_EXAMPLES", "1200"))


class Refused(Exception):
    """Prometheus rejected the query."""


class Server:
    """Runs queries as the daemon does."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.session = requests.Session()

    def answer(self, expr: str) -> QueryResult:
        form = {"query": expr, "time": NOW.isoformat()}
        answer = self.session.post(f"{self.url}/api/v1/query", data=form, timeout=10)
        body: Any = answer.json()
        if body["status"] != "success":
            assert refused(answer.status_code, body["errorType"], body["error"]) is Outcome.REFUSED, body["error"]
            raise Refused(body["error"])
        data = body["data"]
        samples = data["result"] if data["resultType"] == "vector" else [{"metric": {}, "value": data["result"]}]
        points = (Point(each["metric"], float(each["value"][1])) for each in samples)
        return QueryResult(ResultType(data["resultType"]), tuple(points))

    def outcome(self, question: Question) -> QueryResult | None:
        """Return the answer to a single query, or None if it is rejected."""
        try:
            return self.answer(question.expr)
        except Refused:
            return None


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_prometheus(tmp_path_factory.mktemp("fleet"), history=openmetrics(history())) as found:
        yield Server(found.url)


def comparable(result: QueryResult) -> Counter[tuple[frozenset[tuple[str, str]], str]]:
    """Return every sample in any order, its value to the last bit. -0 and 0 differ, NaNs do not."""
    return Counter(
        (frozenset(point.labels.items()), "NaN" if math.isnan(value) else value.hex())
        for point in result.points
        for value in [point.value if point.value is not None else math.nan]
    )


def answers(server: Server, query: PlannedQuery) -> dict[Question, QueryResult | None]:
    """Return each member's answer from the merged query, or from its own if the merged one is rejected."""
    try:
        return dict(split(query, server.answer(query.expr)))
    except Refused:
        return {question: server.outcome(question) for each in query.apart() for question in each.questions}


def assert_equal(server: Server, questions: Sequence[Question]) -> int:
    """Return how many members were merged."""
    count = 0
    for query in Planner().plan(questions):
        if query.form is None:
            continue
        count += len(list(query.questions))
        for question, answer in answers(server, query).items():
            single = server.outcome(question)
            assert (answer is None) == (single is None), (question.expr, query.expr)
            if answer and single and comparable(answer) != comparable(single):
                assert differs_from_itself(server, question), (question.expr, query.expr, answer, single)
    return count


def differs_from_itself(server: Server, question: Question) -> bool:
    """histogram_quantile() and subqueries answer in hash order, which affects the last bit of a sum over them."""
    by_hash = "histogram_quantile" in question.expr or ":30s]" in question.expr
    single = (server.outcome(question) for _ in range(50) if by_hash)
    return len({str(comparable(answer)) for answer in single if answer}) > 1


_member = st.tuples(st.sampled_from([*GROUPS, GHOST, ""]), st.sampled_from([*ENVIRONMENTS, ""]))
_members = st.lists(_member, min_size=2, max_size=4, unique=True)


def test_the_merged_answer_equals_the_single_ones(server: Server) -> None:
    merged = 0

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(expression=expressions, members=_members)
    def check(expression: str, members: list[tuple[str, str]]) -> None:
        nonlocal merged
        written = (expression.replace(ASG, quoted(asg)).replace(ENV, quoted(env)) for asg, env in members)
        merged += bool(assert_equal(server, [ask(expr) for expr in written]))

    check()
    assert merged > EXAMPLES // 4, "too few of them show anything"


@pytest.mark.parametrize(
    "template",
    [
        "req{asg=$}",
        "sum(rate(req{asg=$}[5m]))",
        "sum by (instance) (rate(req{asg=$,code!='500'}[2m])) / 4",
        "count(req{asg=$}) > bool 2",
        "sum(rate(req{asg=$,code='500'}[5m])) / sum(rate(req{asg=$}[5m]))",
        "histogram_quantile(0.9, sum by (le) (rate(lat_bucket{asg=$}[5m])))",
        "sum(rate(req{asg=$}[5m])) or vector(0)",
        "max_over_time(sum(rate(req{asg=$}[1m]))[5m:30s])",
        "sum by (instance) (req{asg=$}) / on(instance) group_left() sum by (instance) (cap{asg=$})",
    ],
)
def test_every_group_is_distinguished(server: Server, template: str) -> None:
    """All unusual values in one alternation, and one without series."""
    questions = each(template, *GROUPS, GHOST)
    query = only(plan(questions))
    found = split(query, server.answer(query.expr))
    for question in questions:
        assert comparable(found[question]) == comparable(server.answer(question.expr)), question.expr
    assert sum(len(answer.points) for answer in found.values()) >= len(GROUPS)


def test_a_rejected_member_is_found_and_the_others_are_answered(server: Server) -> None:
    """Group `web` has series of two environments for an instance, where one is needed."""
    questions = each("sum by (instance, env) (req{asg=$}) * on(instance) group_left() cap{asg=$}", *GROUPS)
    alone = {question: server.outcome(question) for question in questions}
    found = answers(server, only(plan(questions)))
    assert {question for question, answer in found.items() if answer is None} == {
        question for question, answer in alone.items() if answer is None
    }
    assert 0 < sum(answer is None for answer in alone.values()) < len(questions)
