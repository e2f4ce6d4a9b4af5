"""Running all queries of a cycle: each has an answer or an error by the deadline."""

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import cast

import pytest

from autoscaler.clock import Clock
from autoscaler.config.settings import PrometheusSource
from autoscaler.model import Call
from autoscaler.observe.answers import Results
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.plan import Question
from autoscaler.observe.planner.query import PlannedQuery, alone
from autoscaler.observe.prometheus import Exchange, Prometheus
from autoscaler.observe.result import QueryResult, ResultType
from autoscaler.observe.run_queries import run_queries
from autoscaler.threads import NoThread
from tests.observe.build import CLOCK, call
from tests.observe.fake import ONE, answering
from tests.servers.web import Request
from tests.waiting import PATIENCE_SECONDS, until

QUESTIONS = (Question("main", "a"), Question("main", "b"), Question("main", "c"))
FINE = QueryResult(ResultType.VECTOR, ())
EACH = [alone(question) for question in QUESTIONS]


def answers_to(queries: Sequence[PlannedQuery], sources: Mapping[str, Prometheus], call: Call, clock: Clock) -> Results:
    """Run queries; each question is settled once."""
    results: dict[Question, QueryResult | QueryFailure] = {}

    def settle(some: Results) -> None:
        assert not results.keys() & some.keys()
        results.update(some)

    run_queries(queries, sources, call, clock, lambda *_: None, settle)
    return results


def trickle_headers(request: Request) -> None:
    request.trickle(b"HTTP/1.1 200 OK\r\nX-Endless: ", b"a")
    request.drop()


def test_two_queries_run_at_a_time() -> None:
    """One would waste the cycle's time. All at once would overload a shared Prometheus."""
    pair, lock = threading.Barrier(2), threading.Lock()
    under_way: list[int] = [0, 0]  # now, at most

    def answer(request: Request) -> None:
        with lock:
            under_way[0] += 1
            under_way[1] = max(under_way)
        pair.wait(60)  # breaks, and fails the query, unless two are here together
        with lock:
            under_way[0] -= 1
        request.reply(ONE)

    with answering(answer) as fake:
        source = Prometheus("main", PrometheusSource(fake.url, timeout=timedelta(seconds=60)), CLOCK)
        four = (*QUESTIONS, Question("main", "d"))
        answers = answers_to([alone(each) for each in four], {"main": source}, call(60), CLOCK)
        source.close()
    assert [type(answer) for answer in answers.values()] == [QueryResult] * 4
    assert under_way == [0, 2]


def test_a_call_that_cannot_be_interrupted_is_abandoned() -> None:
    """Whatever a source hangs in, each question has an answer or an error at the deadline."""
    end = threading.Event()

    class Stuck:
        concurrency, timeout_seconds = 2, 5.0

        def exchange(self, *_: object, heavy: bool) -> Exchange[QueryResult]:
            end.wait(PATIENCE_SECONDS)
            end.set()
            return Exchange(FINE, 0.0)

    answers = answers_to(EACH, {"main": cast("Prometheus", Stuck())}, call(0.3), CLOCK)
    assert not end.is_set(), "it waited for the source"
    end.set()
    assert {str(answers[question]) for question in QUESTIONS} == {
        "prometheus 'main' did not answer before the cycle's deadline"
    }


def test_endless_headers_use_no_thread_beyond_the_deadline() -> None:
    """http.client reads as long as they arrive, which would lose a thread in each cycle."""
    with answering(trickle_headers) as fake:
        source = Prometheus("main", PrometheusSource(fake.url), CLOCK)
        answers = answers_to(EACH, {"main": source}, call(0.3), CLOCK)
        assert all(isinstance(answer, QueryFailure) for answer in answers.values())
        until(
            lambda: all(thread.name != "prometheus-main" for thread in threading.enumerate()), "the end of the threads"
        )


def test_an_unforeseen_failure_affects_one_question() -> None:
    """A bug in one query must not end another autoscaler's cycle."""

    class Broken:
        concurrency, timeout_seconds = 2, 5.0

        def exchange(self, expr: str, *_: object, heavy: bool) -> Exchange[QueryResult]:
            if expr == "a":
                raise RuntimeError("hunter2")
            return Exchange(FINE, 0.0)

    answers = answers_to(EACH, {"main": cast("Prometheus", Broken())}, call(), CLOCK)
    said = str(answers[QUESTIONS[0]])
    assert said.startswith("prometheus 'main' could not be asked: RuntimeError at /")
    assert said.endswith("; this is a bug, please report it")
    assert "hunter2" not in said
    assert isinstance(answers[QUESTIONS[0]], QueryFailure)
    assert [answers[each] for each in QUESTIONS[1:]] == [FINE, FINE]


@pytest.mark.parametrize("threads", [0, 1])
def test_a_lack_of_threads_affects_only_unsent_queries(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """A process at its limit of tasks uses the threads it has, and leaves none behind."""
    started: list[threading.Thread] = []

    def spawn(name: str, work: Callable[[], object]) -> None:
        if len(started) == threads:
            raise NoThread
        started.append(threading.Thread(target=work, name=name, daemon=True))
        started[-1].start()

    monkeypatch.setattr("autoscaler.observe.run_queries.spawn", spawn)

    class Fine:
        concurrency, timeout_seconds = 2, 5.0

        def exchange(self, *_: object, heavy: bool) -> Exchange[QueryResult]:
            return Exchange(FINE, 0.0)

    answers = answers_to(EACH, {"main": cast("Prometheus", Fine())}, call(60), CLOCK)
    if threads:
        assert set(map(type, answers.values())) == {QueryResult}
    else:
        (said,) = set(map(str, answers.values()))
        assert said.startswith("prometheus 'main' was not asked: no thread could be started; raise the limit of tasks")
    for thread in started:
        thread.join(60)
        assert not thread.is_alive()
