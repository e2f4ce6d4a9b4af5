"""Which errors of a server concern the query that it was asked."""

import pytest

from autoscaler.observe.planner.outcome import Outcome, refused


@pytest.mark.parametrize(
    ("status", "kind", "error", "expected"),
    [
        (422, "execution", "found duplicate series for the match group {} on the left hand-side", Outcome.REFUSED),
        (400, "bad_data", "1:5: parse error: unexpected end of input", Outcome.REFUSED),
        (422, "422", "cannot execute query: duplicate time series", Outcome.REFUSED),
        (422, "execution", "query processing would load too many samples into memory", Outcome.TOO_LARGE),
        (422, "execution", "the query exceeded the maximum number of series", Outcome.TOO_LARGE),
        (422, "execution", 'found duplicate series for the match group {asg="too many \\"limit"}', Outcome.REFUSED),
        (422, "422", "cannot select more than -search.maxSamplesPerQuery=1000", Outcome.TOO_LARGE),
        (503, "timeout", "query timed out in query execution", Outcome.LATE),
        (503, "503", "cannot execute query: timeout exceeded", Outcome.LATE),
        (422, "execution", "expanding series: context deadline exceeded", Outcome.LATE),
        (422, "execution", 'found duplicate series for the match group {asg="timed out"}', Outcome.REFUSED),
        (503, "unavailable", "service is starting", Outcome.FAILED),
        (503, "execution", "anything", Outcome.FAILED),
        (429, "too_many_requests", "slow down", Outcome.FAILED),
        (401, "unauthorized", "who are you", Outcome.FAILED),
    ],
)
def test_only_an_error_of_the_expression_or_its_cost_concerns_the_query(
    status: int, kind: str, error: str, expected: Outcome
) -> None:
    assert refused(status, kind, error) is expected
