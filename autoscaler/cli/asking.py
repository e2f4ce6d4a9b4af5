"""What `check --live` asks each Prometheus beside the queries of a cycle, which it counts, too."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from autoscaler.cli.causes import Causes
from autoscaler.cli.findings import Finding
from autoscaler.clock import Clock
from autoscaler.config import Settings
from autoscaler.errors import bug
from autoscaler.model import Autoscaler, Call, Failure, MetricSpec, MetricType, Observation, Reading
from autoscaler.observe.answers import Results
from autoscaler.observe.failure import QueryFailure, Unsampled, no_sample
from autoscaler.observe.plan import Question
from autoscaler.observe.planner import Outcome, alone
from autoscaler.observe.prometheus import Prometheus
from autoscaler.observe.result import QueryResult, ResultType
from autoscaler.observe.run_queries import run_queries
from autoscaler.text import count

_CAUSE_SECONDS: Final = 15.0
"""The time for all questions about queries without a sample."""
_ZERO: Final = "; if that means zero, say so in the expression, as in … or vector(0)"


class Asking:
    """Asks the sources of a configuration. Used by one thread, but for `queried`."""

    def __init__(self, settings: Settings, clock: Clock, seconds: float) -> None:
        """`seconds`: the time for each of the methods that ask, but for that of the causes."""
        self._settings, self._clock, self._seconds = settings, clock, seconds
        self._sources = {name: Prometheus(name, source, clock) for name, source in settings.prometheus.items()}
        self._causes: Mapping[str, Causes] | None = None
        self._answered: dict[str, list[float]] = {}
        """Source -> the duration of each query, in seconds."""
        self._failed: dict[str, list[QueryFailure]] = {}

    def close(self) -> None:
        """Close the connections."""
        for source in self._sources.values():
            source.close()

    def queried(self, prometheus: str, seconds: float, failure: QueryFailure | None) -> None:
        """Count one query."""
        if failure is None:
            self._answered.setdefault(prometheus, []).append(seconds)
        else:
            self._failed.setdefault(prometheus, []).append(failure)

    def findings(self) -> Iterator[Finding]:
        """Yield a finding about each Prometheus, from the queries so far.

        A query that it refuses says nothing about it: the finding where the query is used says why.
        """
        for name in self._sources:
            answered, all_failed = self._answered.get(name, []), self._failed.get(name, [])
            failed = [each for each in all_failed if each.outcome is not Outcome.REFUSED]
            refused = len({str(each) for each in all_failed} - {str(each) for each in failed})
            text = f"{count(len(answered), 'query', 'queries')} answered"
            text += f", the slowest in {max(answered):.2f} s" if answered else ""
            text += f"; {refused} refused, see below" if refused else ""
            text += f"; {len(failed)} failed: {failed[0]}" if failed else ""
            yield Finding(f"prometheus {name}", text, bool(failed))

    def unknown_expressions(self) -> Sequence[Finding]:
        """Return the findings about the expressions that only their Prometheus can check."""
        unknown = [
            (each.problem.path, Question(each.prometheus, each.expr)) for each in self._settings.unknown_expressions
        ]
        answers = self._ask([question for _, question in unknown])
        return [_settled(path, question.prometheus, answers[question]) for path, question in unknown]

    def ask_the_unused(self) -> None:
        """Query a constant from each Prometheus that no query uses."""
        unused = self._sources.keys() - self._answered.keys() - self._failed.keys()
        self._ask([Question(name, "vector(1)") for name in sorted(unused)])

    def with_causes(self, scaler: Autoscaler, seen: Observation, now: datetime) -> Observation:
        """Return the observation, with the causes of queries without a sample, as far as Prometheus shows them."""
        if self._causes is None:
            deadline = self._clock.monotonic() + _CAUSE_SECONDS
            self._causes = {name: Causes(each, now, deadline, self._clock) for name, each in self._sources.items()}
        pairs = zip(scaler.metrics, seen.readings, strict=True)
        return replace(seen, readings=tuple([_explained(metric, reading, self._causes) for metric, reading in pairs]))

    def _ask(self, questions: Sequence[Question]) -> Results:
        """Return the answer to each question, or the failure."""
        call = Call(self._clock.now(), self._clock.monotonic() + self._seconds)
        answers: dict[Question, QueryResult | QueryFailure] = {}
        asked = [alone(question) for question in dict.fromkeys(questions)]
        run_queries(asked, self._sources, call, self._clock, self.queried, answers.update)
        return answers


def _settled(path: str, prometheus: str, answer: QueryResult | QueryFailure) -> Finding:
    if isinstance(answer, QueryFailure):
        return Finding(path, str(answer), wrong=True)
    if answer.type not in (ResultType.VECTOR, ResultType.SCALAR):
        return Finding(path, f"prometheus {prometheus!r} answers with a {answer.type}, not one value each", wrong=True)
    return Finding(path, f"prometheus {prometheus!r} knows its syntax: {count(len(answer.points), 'sample')}")


def _explained(metric: MetricSpec, reading: Reading | Failure, causes: Mapping[str, Causes]) -> Reading | Failure:
    if not isinstance(reading, Unsampled):
        return reading
    what = no_sample(reading.query)
    try:
        cause = causes[reading.query.prometheus].of(reading.query)
    except Exception as error:  # noqa: BLE001 - an unforeseen answer must not discard the other findings
        return replace(reading, message=f"{what}; the search for the cause failed: {bug(error)}")
    if cause is None:
        return replace(reading, message=f"{what}; query its parts in Prometheus, one by one")
    zero = cause.may_be_zero and metric.type in (MetricType.OBJECT, MetricType.EXTERNAL)
    return replace(reading, message=f"{what}: {cause.text}{_ZERO if zero else ''}")
