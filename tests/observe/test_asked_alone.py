"""Which questions are asked alone in the next cycles, from what became of them."""

import pytest

from autoscaler.observe.asked_alone import CHEAP_SHARE, MAX_COSTLY, AloneQuestions, Result, Why
from autoscaler.observe.plan import Question
from autoscaler.observe.planner.outcome import Outcome
from autoscaler.observe.planner.query import alone

ONE = Question("default", "load")
FAILURES = {Outcome.REFUSED: Why.REFUSED, Outcome.LATE: Why.HEAVY, Outcome.TOO_LARGE: Why.HEAVY}


def came(
    questions: AloneQuestions,
    outcome: Outcome,
    now: float = 0.0,
    share: float = 0.01,
    *,
    of: Question = ONE,
    responsive: bool = True,
    merged: bool = True,
) -> Why | None:
    """Learn one result, and return why its question is asked alone from now on."""
    result = Result(alone(of), outcome, share, "it failed", merged)
    questions.learn([result], of.prometheus, now, responsive=responsive)
    known = questions.known.get(of)
    return None if known is None else known.why


@pytest.mark.parametrize(("outcome", "why"), FAILURES.items())
def test_a_question_that_fails_alone_stays_alone_until_it_was_cheap_for_ten_minutes(outcome: Outcome, why: Why) -> None:
    """Otherwise it fails its neighbours in each cycle."""
    questions = AloneQuestions()
    assert came(questions, outcome) is why
    assert came(questions, Outcome.ANSWERED, 60) is why
    assert came(questions, outcome, 600) is why
    assert came(questions, Outcome.ANSWERED, 700) is why
    assert came(questions, Outcome.ANSWERED, 1000, CHEAP_SHARE + 0.01) is why
    assert came(questions, Outcome.ANSWERED, 1100) is why
    assert came(questions, Outcome.ANSWERED, 1699) is why
    assert came(questions, Outcome.ANSWERED, 1700) is None


@pytest.mark.parametrize("outcome", FAILURES)
def test_nothing_is_learned_from_a_source_that_answers_nothing_quickly(outcome: Outcome) -> None:
    """The source is the cause. After an outage thousands of questions would be asked alone."""
    questions = AloneQuestions()
    assert came(questions, outcome, responsive=False) is None
    assert came(questions, Outcome.FAILED) is None


def test_an_outage_does_not_end_the_ten_minutes() -> None:
    questions = AloneQuestions()
    came(questions, Outcome.LATE)
    came(questions, Outcome.ANSWERED, 100)
    assert came(questions, Outcome.LATE, 200, responsive=False) is Why.HEAVY
    assert came(questions, Outcome.FAILED, 300) is Why.HEAVY
    assert came(questions, Outcome.ANSWERED, 700) is None


def test_a_question_that_was_not_merged_is_remembered_only_for_its_cost() -> None:
    """It is asked alone anyway, but a heavy one runs after the others."""
    questions = AloneQuestions()
    assert came(questions, Outcome.REFUSED, merged=False) is None
    assert came(questions, Outcome.LATE, merged=False) is Why.HEAVY
    assert came(questions, Outcome.REFUSED, merged=False) is Why.REFUSED


def test_at_most_250_questions_of_a_source_are_heavy() -> None:
    """Beyond this the source is slow. Another source, and refused questions, have nothing to do with it."""
    questions = AloneQuestions()
    for number in range(MAX_COSTLY + 10):
        came(questions, Outcome.LATE, of=Question("default", f"a{number}"))
    assert questions.count_heavy("default") == MAX_COSTLY
    assert came(questions, Outcome.REFUSED, of=Question("default", "refused")) is Why.REFUSED
    assert came(questions, Outcome.LATE, of=Question("default", "refused")) is Why.REFUSED
    assert came(questions, Outcome.LATE, of=Question("default", "a0")) is Why.HEAVY
    assert came(questions, Outcome.LATE, of=Question("other", "late")) is Why.HEAVY


def test_a_removed_question_is_forgotten() -> None:
    questions = AloneQuestions()
    came(questions, Outcome.LATE)
    questions.forget_others([])
    assert not questions.known
