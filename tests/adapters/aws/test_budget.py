"""One token bucket for each service, account and region."""

import pytest

from adapters.aws.budget import Budget, shared_budget


def test_a_quiet_connection_never_waits() -> None:
    """A cycle's dozen requests run without waiting."""
    budget = Budget()
    assert [budget.reserve(0, 10) for _ in range(100)] == [0.0] * 100


def test_a_burst_beyond_the_bucket_is_spread() -> None:
    """The bucket allows twenty requests a second."""
    budget = Budget()
    for _ in range(100):
        budget.reserve(0, 10)
    assert budget.reserve(0, 10) == pytest.approx(1 / 20)
    assert budget.reserve(0, 10) == pytest.approx(2 / 20)
    assert budget.reserve(1, 10) == 0


def test_throttling_slows_down_and_success_recovers() -> None:
    """Each throttled request halves the rate, to at least one a second."""
    budget = Budget()
    budget.throttled(0)
    assert budget.reserve(0, 10) == pytest.approx(1 / 10)
    for _ in range(10):
        budget.throttled(0)
    slow = budget.reserve(0, 10)
    assert slow is not None
    assert 1 <= slow <= 2.1
    for _ in range(100):
        budget.succeeded()
    assert budget.reserve(3, 10) == pytest.approx(0, abs=0.2)


def test_a_request_that_would_wait_past_the_deadline_uses_no_budget() -> None:
    """A request that is not sent must not delay the next one."""
    budget = Budget()
    budget.throttled(0)
    assert budget.reserve(0, 0.01) is None
    assert budget.reserve(0, 10) == pytest.approx(1 / 10)


def test_an_account_and_region_share_one() -> None:
    """AWS counts their requests to a service together. Other accounts, and unknown ones, have their own bucket."""
    one = shared_budget("autoscaling", None, "123456789012", "eu-west-1")
    assert shared_budget("autoscaling", None, "123456789012", "eu-west-1") is one
    assert shared_budget("autoscaling", None, "123456789012", "eu-west-2") is not one
    assert shared_budget("autoscaling", None, "210987654321", "eu-west-1") is not one
    assert shared_budget("ecs", None, "123456789012", "eu-west-1") is not one
    assert shared_budget("autoscaling", None, None, "eu-west-1") is shared_budget(
        "autoscaling", None, None, "eu-west-1"
    )
