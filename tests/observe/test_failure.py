"""Errors of queries can be sent to worker processes, which `tune` does."""

import pickle

from autoscaler.model import Query
from autoscaler.observe.failure import NoSample, QueryError, outcome_of
from autoscaler.observe.planner import Outcome


def test_an_error_of_a_query_is_the_same_in_another_process() -> None:
    error = QueryError("answered HTTP 422", Outcome.TOO_LARGE)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), outcome_of(again)) == (str(error), Outcome.TOO_LARGE)


def test_a_missing_sample_is_the_same_in_another_process() -> None:
    error = NoSample("the query returned no sample", "look", Query("load"))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.query) == (str(error), Query("load"))
