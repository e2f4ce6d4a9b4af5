"""Questions and answers for these tests."""

from collections.abc import Iterable, Mapping, Sequence

from autoscaler.fields.kept_labels import quoted
from autoscaler.observe.plan import Question
from autoscaler.observe.planner.merge import Limits
from autoscaler.observe.planner.planner import Planner
from autoscaler.observe.planner.query import PlannedQuery
from autoscaler.observe.result import QueryResult

SOURCE = "default"


def ask(expr: str) -> Question:
    """Return a question to the default source."""
    return Question(SOURCE, expr)


def each(template: str, *values: str) -> list[Question]:
    """Return an expression for each value, which replaces `$`."""
    return [ask(template.replace("$", quoted(value))) for value in values]


def plan(questions: Iterable[Question], limits: Limits | None = None) -> Sequence[PlannedQuery]:
    """Return a plan by a new planner."""
    return Planner(limits).plan(list(questions))


def only(found: Sequence[PlannedQuery]) -> PlannedQuery:
    """Return the plan's only query."""
    assert len(found) == 1, [(query.expr, query.reason) for query in found]
    return found[0]


def merged(template: str, *values: str) -> str:
    """Return the merged form of expressions like this. Fails if they are not merged."""
    query = only(plan(each(template, *(values or ("api", "web")))))
    assert query.form, query.reason
    return query.expr


def reason(template: str, *values: str) -> str:
    """Return why expressions like this are not merged."""
    values = values or ("api", "web")
    queries = plan(each(template, *values))
    assert [query.expr for query in queries] == [question.expr for question in each(template, *values)]
    reasons = {query.reason for query in queries}
    assert len(reasons) == 1
    return reasons.pop()


def samples(result: QueryResult) -> list[tuple[Mapping[str, str], float | None]]:
    """Return labels and value of each sample, in order."""
    return [(dict(point.labels), point.value) for point in result.points]
