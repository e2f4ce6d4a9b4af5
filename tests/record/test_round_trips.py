"""Records are read back exactly: a rounded number or another class of error would change decisions."""

from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings

from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    Autoscaler,
    Decision,
    Failure,
    History,
    ManualControls,
    Observation,
    Outcome,
    Sighting,
    TargetRef,
)
from autoscaler.record.binary import Binary
from autoscaler.record.evaluation import (
    DECISION,
    all_columns,
    decision_columns,
    decision_from,
    history_columns,
    history_from,
    observation_from,
)
from autoscaler.record.series import series_row
from autoscaler.record.targets import target_from, target_text
from autoscaler.record.times import to_micros
from tests.record.drawing import comparable, values
from tests.record.samples import decision, observation
from tests.replaced import replace

patient = settings(suppress_health_check=list(HealthCheck))  # large values take a while


def observed_again(seen: Observation, made: Decision) -> Observation:
    return observation_from(all_columns(seen, made, history_columns(History())), to_micros(made.now))


def made_again(made: Decision) -> Decision:
    return decision_from(decision_columns(made), to_micros(made.now), made.name, made.target)


@given(values(History))
@patient
def test_any_history_is_read_back(known: History) -> None:
    columns = all_columns(observation(), decision(), history_columns(known))
    at = None if known.at is None else to_micros(known.at)
    assert comparable(history_from(columns, at)) == comparable(known)


@given(values(Decision))
@patient
def test_any_decision_is_read_back(made: Decision) -> None:
    assert comparable(made_again(made)) == comparable(made)


@given(values(Observation))
@patient
def test_any_observation_is_read_back(seen: Observation) -> None:
    """The times of its samples may be before or after the cycle's time."""
    assert comparable(observed_again(seen, decision())) == comparable(seen)


@pytest.mark.parametrize("kind", [Autoscaler, ManualControls, Sighting])
def test_any_other_value_is_read_back(kind: type[Any]) -> None:
    """These are specifications, pauses and overrides."""
    binary = Binary[Any](kind)

    @given(values(kind))
    @patient
    def comes_back(value: Any) -> None:
        assert binary.load(binary.dump(value)) == value

    comes_back()


@pytest.mark.parametrize("kind", get_args(Outcome))
def test_an_outcome_is_read_back_with_its_class(kind: type[Any]) -> None:
    """Written(5) and Proposed(5) have the same fields and opposite meanings."""

    @given(values(kind))
    @patient
    def comes_back(outcome: Any) -> None:
        found = made_again(replace(decision(), outcome=outcome)).outcome
        assert comparable(found) == comparable(outcome)

    comes_back()


def test_an_adapters_own_error_becomes_the_nearest_of_ours() -> None:
    """A third party's classes may be gone when the history is read. The reaction to the error must stay."""

    class Throttled(TargetUnavailable):
        pass

    found = observed_again(Observation(Throttled("slow down"), (Failure("none"),)), decision())
    assert comparable(found.target) == (TargetUnavailable, "slow down")
    assert found.readings == (Failure("none"),)
    outcome = made_again(replace(decision(), outcome=Throttled("slow down"))).outcome
    assert comparable(outcome) == (TargetUnavailable, "slow down")


@given(values(TargetRef), values(TargetRef))
@patient
def test_a_target_is_found_by_its_text(one: TargetRef, other: TargetRef) -> None:
    """Its column distinguishes two targets. Of two with the same name in other parts, both are refused."""
    one, other = replace(one, parts=()), replace(other, parts=())
    assert target_from(target_text(one)) == one
    assert (target_text(one) == target_text(other)) is (one == other)


@given(values(Decision))
@patient
def test_a_point_of_a_chart_equals_its_decision(made: Decision) -> None:
    point = series_row(made, 0, (3, 9))
    assert (point.minimum, point.maximum) == (
        3 if made.minimum is None else made.minimum,
        9 if made.maximum is None else made.maximum,
    )
    assert (point.current, point.desired, point.dry_run) == (made.current, made.desired, made.dry_run)
    assert point.metrics == tuple((each.name, each.target.type, each.target.value) for each in made.metrics)
    assert point.values == tuple(each.current for each in made.metrics)


def test_an_equal_cycle_has_equal_bytes() -> None:
    """Unchanged values need no room, because a cycle's time is in a column of its own."""
    first = all_columns(observation(), decision(0), history_columns(History()))
    second = all_columns(
        observation(), replace(decision(15), conditions=decision(0).conditions), history_columns(History())
    )
    assert first[DECISION] == second[DECISION]
    assert first[:2] == second[:2]
