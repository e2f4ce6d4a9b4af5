"""Asks all questions of a cycle, two at a time for each Prometheus, and is back at the deadline."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Protocol, TypeAlias

from autoscaler.clock import Clock
from autoscaler.errors import MetricError, named
from autoscaler.model import Call
from autoscaler.observe.plan import Question
from autoscaler.observe.prometheus import AT_ONCE, Prometheus
from autoscaler.observe.result import QueryResult
from autoscaler.observe.workers import settle, spawn
from autoscaler.target.http.memory import give_back

Answers: TypeAlias = Mapping[Question, QueryResult | MetricError]
"""Every question of the cycle."""


class QueryMeter(Protocol):
    """Where what each query came to is counted. Called from one thread of each cycle."""

    def queried(self, prometheus: str, seconds: float, error: MetricError | None) -> None:
        """One question to this source took so long, and failed or not."""


class NoMeter:
    """Counts nothing."""

    def queried(self, prometheus: str, seconds: float, error: MetricError | None) -> None:
        """Nothing."""


def ask(
    questions: Sequence[Question], sources: Mapping[str, Prometheus], call: Call, clock: Clock, meter: QueryMeter
) -> Answers:
    """The answer to every question, or why there is none. Returns by the deadline whatever a server does."""
    began = clock.monotonic()
    give_back()  # of the cycle before, whose answers are gone
    futures: dict[Question, Future[QueryResult]] = {question: Future() for question in questions}
    took: dict[Question, float] = {}
    lines: dict[str, SimpleQueue[Question]] = {}
    for question in questions:
        lines.setdefault(question.prometheus, SimpleQueue()).put(question)

    def work(source: Prometheus, line: SimpleQueue[Question]) -> None:
        with suppress(Empty):
            while True:
                question = line.get_nowait()
                settle(futures[question], partial(query, source, question))

    def query(source: Prometheus, question: Question) -> QueryResult:
        asked = clock.monotonic()
        try:
            return source.query(question.expr, call.now, call.deadline)
        finally:
            took[question] = clock.monotonic() - asked

    for name, line in lines.items():
        for _ in range(min(AT_ONCE, line.qsize())):
            spawn(f"prometheus-{name}", partial(work, sources[name], line))
    wait(futures.values(), timeout=max(call.deadline - began, 0))
    answers = {question: _answer(question, future) for question, future in futures.items()}
    elapsed = clock.monotonic() - began
    for question, answer in answers.items():
        error = answer if isinstance(answer, MetricError) else None
        meter.queried(question.prometheus, took.get(question, elapsed), error)
    return answers


def _answer(question: Question, future: Future[QueryResult]) -> QueryResult | MetricError:
    if not future.done():
        return MetricError(f"prometheus {question.prometheus!r} did not answer before the cycle's deadline")
    match future.exception():
        case None:
            return future.result()
        case MetricError() as error:
            return MetricError(str(error))  # without the frames that the traceback keeps alive
        case error:  # not foreseen: it must not take the other autoscalers' cycle with it
            return MetricError(
                f"prometheus {question.prometheus!r} could not be asked: {named(error)}; this is a bug, report it"
            )
