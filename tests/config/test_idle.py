"""The keys `idleReplicas`, `cooldown` and `activation`."""

from datetime import timedelta

import pytest

from autoscaler.errors import ConfigError
from autoscaler.rules.idle import Idle
from tests.config.conftest import Load
from tests.config.texts import HEAD, SCALER

METRIC = "{type: %s, %s: {metric: {name: q}, query: {expr: q}, target: {type: AverageValue, averageValue: 1}%s}}"
EXTERNAL = METRIC % ("External", "external", "%s")
PODS = METRIC % ("Pods", "pods", "")


def text(own: str, activation: str = "", *others: str) -> str:
    return f"{HEAD}autoscalers: [{SCALER % (', '.join([EXTERNAL % activation, *others]), own)}]\n"


@pytest.mark.parametrize(
    ("own", "activation", "cooldown", "above"),
    [
        ("", "", None, None),
        (", idleReplicas: 0", "", timedelta(minutes=5), 0),
        (", idleReplicas: 0, cooldown: 0s", ", activation: 500m", timedelta(0), 500),
        (", minReplicas: 0", "", None, None),
        (", minReplicas: 0", ", activation: 5", timedelta(minutes=5), 5000),
        (", minReplicas: 0, cooldown: 1m", "", timedelta(minutes=1), 0),
        (", cooldown: 1m", ", activation: 5", None, None),
    ],
)
def test_the_size_depends_on_activity_where_it_can_be_zero(
    load_text: Load, own: str, activation: str, cooldown: timedelta | None, above: int | None
) -> None:
    """minReplicas: 0 alone is HPA's scale to zero; with an activation or a cooldown it is KEDA's."""
    (found,) = load_text(text(own, activation)).autoscalers
    assert found.rules.find(Idle) == (None if cooldown is None else Idle(cooldown, (above,)))


def test_a_metric_of_instances_has_no_activation(load_text: Load) -> None:
    """It has no value while nothing runs."""
    (found,) = load_text(text(", idleReplicas: 0", "", PODS)).autoscalers
    assert found.rules.find(Idle) == Idle(timedelta(minutes=5), (0, None))


def test_a_setting_without_an_effect_is_a_hint(load_text: Load) -> None:
    """With a minimum of 1 or more and no idleReplicas the size never depends on activity."""
    hints = load_text(text(", cooldown: 1m", ", activation: 5")).hints
    assert [hint.path for hint in hints] == [
        "autoscalers[0].metrics[0].external.activation",
        "autoscalers[0].cooldown",
    ]
    assert {hint.message for hint in hints} == {
        "it has no effect with minReplicas 1 and no idleReplicas; add idleReplicas: 0"
    }
    assert not load_text(text(", cooldown: 1m, idleReplicas: 0", ", activation: 5")).hints


@pytest.mark.parametrize(
    ("own", "activation", "message"),
    [
        (", idleReplicas: 1", "", "1 is not possible; write 0, or leave it out and raise minReplicas"),
        (", idleReplicas: false", "", "expected a whole number"),
        ("", ", activation: -1", "-1 is below 0; write a quantity of 0 or more"),
    ],
)
def test_a_wrong_value_is_named(load_text: Load, own: str, activation: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_text(text(own, activation))


def test_idleness_needs_a_metric_that_ends_it(load_text: Load) -> None:
    only = f"{HEAD}autoscalers: [{SCALER % (PODS, ', idleReplicas: 0')}]\n"
    with pytest.raises(ConfigError, match="0 needs an Object or External metric to scale up again; add one, or leave"):
        load_text(only)
