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
from autoscaler.observe.workers import spawn

Answers: TypeAlias = Mapping[Question, QueryResult | MetricError]
"""Every question of the cycle."""
_Line: TypeAlias = SimpleQueue[tuple[Question, Future[QueryResult | MetricError]]]
"""What one Prometheus is still to be asked."""


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
    futures: dict[Question, Future[QueryResult | MetricError]] = {question: Future() for question in questions}
    took: dict[Question, float] = {}
    lines: dict[str, _Line] = {}
    for question, future in futures.items():
        lines.setdefault(question.prometheus, SimpleQueue()).put((question, future))

    def work(source: Prometheus, line: _Line) -> None:
        # Not `futures`: what a library's error keeps of this frame would keep all the cycle's answers.
        with suppress(Empty):
            while True:
                question, future = line.get_nowait()
                future.set_result(query(source, question))

    def query(source: Prometheus, question: Question) -> QueryResult | MetricError:
        asked = clock.monotonic()
        try:
            return source.query(question.expr, call.now, call.deadline)
        except MetricError as error:
            return MetricError(str(error))  # without the frames that the traceback keeps alive
        except BaseException as error:  # noqa: BLE001 - it must not take the other autoscalers' cycle with it
            name = question.prometheus
            return MetricError(
                f"prometheus {name!r} could not be asked: {named(error)}; this is a bug, please report it"
            )
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


def _answer(question: Question, future: Future[QueryResult | MetricError]) -> QueryResult | MetricError:
    if not future.done():
        return MetricError(f"prometheus {question.prometheus!r} did not answer before the cycle's deadline")
    return future.result()
