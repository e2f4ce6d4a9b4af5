from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args

import pytest
from autoscaler.record.codec import Codec, pack, unpack
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoscaler.errors import MetricError, StateError, TargetError, TargetForbidden, TargetNotFound, TargetUnavailable
from autoscaler.model import Autoscaler, Decision, History, Observation, Outcome
from tests.record.samples import decision, observation

# what hypothesis cannot know: times are aware, errors carry one sentence
st.register_type_strategy(datetime, st.datetimes(timezones=st.just(UTC)))
for kind in (TargetError, MetricError, TargetUnavailable, TargetForbidden, TargetNotFound):
    st.register_type_strategy(kind, st.builds(kind, st.text(max_size=6)))


def comparable(value: Any) -> Any:
    """Errors are equal when they are of one class and say the same."""
    if isinstance(value, Exception):
        return type(value), str(value)
    if isinstance(value, Observation):
        return comparable(value.target), [comparable(reading) for reading in value.readings], value.victims
    if isinstance(value, Decision):
        return [comparable(getattr(value, name)) for name in Decision.__slots__]
    return value


@pytest.mark.parametrize("kind", [Autoscaler, Observation, Decision, History])
def test_values_come_back_exactly(kind: type[Any]) -> None:
    """Replay decides again from what was recorded: a rounded number or another class of error decides differently."""
    codec = Codec(kind)

    @settings(
        max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )  # a large value takes a while to draw
    @given(st.from_type(kind).filter(lambda value: "nan" not in repr(value)))  # which does not equal itself
    def comes_back(value: Any) -> None:
        assert comparable(codec.load(codec.dump(value))) == comparable(value)

    comes_back()


def test_every_outcome_keeps_its_class() -> None:
    """Written(5) and Proposed(5) look alike and mean opposite things."""
    codec: Codec[Any] = Codec(Decision)

    @settings(deadline=None)
    @given(st.one_of([st.from_type(kind) for kind in get_args(Outcome)]))
    def comes_back(outcome: Any) -> None:
        found = codec.load(codec.dump(replace(decision(), outcome=outcome)))
        assert comparable(found.outcome) == comparable(outcome)

    comes_back()


def test_an_adapters_own_error_becomes_the_nearest_of_ours() -> None:
    """A third party's classes may be gone when the history is read; what the catcher should do is not."""

    class Throttled(TargetUnavailable):
        pass

    codec = Codec(Observation)
    found = codec.load(codec.dump(Observation(Throttled("slow down"), ()))).target
    assert comparable(found) == (TargetUnavailable, "slow down")


def test_a_time_of_another_zone_is_the_same_instant() -> None:
    """Back ends report local times."""
    codec: Codec[Any] = Codec(datetime)
    local = datetime(2026, 3, 1, 8, 0, 0, 1, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert codec.load(codec.dump(local)) == local


def test_a_field_of_a_later_version_is_passed_over() -> None:
    """Fields come with defaults, and old and new rows stand side by side."""
    codec = Codec(History)
    assert codec.load(b'{"of_tomorrow":1}') == History()


def test_a_damaged_value_is_a_state_error() -> None:
    """A flipped bit on the disk is for the operator to know, without a traceback."""
    with pytest.raises(StateError, match="restore a backup"):
        Codec(Decision).load(b'{"name":"web"}')
    with pytest.raises(StateError, match="restore a backup"):
        unpack(b"damaged")


def test_a_body_that_is_like_its_dictionary_packs_small() -> None:
    """Most of a target is the same a cycle later: thirty days of decisions must fit a small disk."""
    codec = Codec(Observation)
    first, second = codec.dump(observation(busy=2500)), codec.dump(observation(busy=2600))
    packed = pack(second, first)
    assert unpack(packed, first) == second
    assert len(packed) * 3 < len(pack(second))
