"""The brakes that a configuration gives to an autoscaler."""

from datetime import timedelta

import pytest

from autoscaler.errors import ConfigError
from autoscaler.model import Autoscaler
from autoscaler.rules.brakes import Brakes
from autoscaler.rules.brakes.loss import LossBrake
from autoscaler.rules.brakes.outside_change import OutsideChangeBrake
from autoscaler.rules.brakes.unfulfilled import UnfulfilledBrake
from tests.config.conftest import Load
from tests.config.texts import HEAD, scaler


def brakes(found: Autoscaler) -> Brakes | None:
    return found.rules.find(Brakes)


def test_an_autoscaler_has_no_brakes_unless_they_are_configured(load_text: Load) -> None:
    assert brakes(scaler(load_text)) is None
    assert brakes(scaler(load_text, ", brakes: {}")) is None


def test_a_brake_without_keys_has_its_defaults(load_text: Load) -> None:
    minutes = [timedelta(minutes=count) for count in (10, 5, 10)]
    assert brakes(scaler(load_text, ", brakes: {unfulfilled: {}, loss: {}, outsideChange: {}}")) == Brakes(
        UnfulfilledBrake(30, minutes[0]), LossBrake(30, minutes[1]), OutsideChangeBrake(minutes[2])
    )


@pytest.mark.parametrize(
    ("own", "loss"),
    [
        ("", LossBrake(50)),
        (", brakes: {loss: {hold: 1m}}", LossBrake(30, timedelta(minutes=1))),
        (", brakes: {loss: false}", None),
        (", brakes: {loss: null}", LossBrake(50)),
        (", brakes: {unfulfilled: {}}", LossBrake(50)),
    ],
)
def test_an_autoscalers_brake_replaces_the_controllers(load_text: Load, own: str, loss: LossBrake | None) -> None:
    """Each brake is replaced as a whole; a key without a value counts as omitted."""
    head = f"controller: {{brakes: {{loss: {{percent: 50}}, outsideChange: {{}}}}}}\n{HEAD}"
    found = brakes(scaler(load_text, own, head=head))
    assert found is not None
    assert found.loss == loss
    assert found.outside_change == OutsideChangeBrake()
    assert (found.unfulfilled is None) == ("unfulfilled" not in own)


def test_a_controller_may_disable_a_brake_that_is_not_enabled(load_text: Load) -> None:
    assert brakes(scaler(load_text, head=f"controller: {{brakes: {{loss: false}}}}\n{HEAD}")) is None


@pytest.mark.parametrize(
    ("controller", "own", "expected"),
    [
        ("{}", "", False),
        ("{}", ", brakes: {afterOutage: true}", True),
        ("{}", ", brakes: {afterOutage: false}", False),
        ("{afterOutage: true}", "", True),
        ("{afterOutage: true}", ", brakes: {afterOutage: null}", True),
        ("{afterOutage: true}", ", brakes: {loss: {}}", True),
        ("{afterOutage: true}", ", brakes: {afterOutage: false}", False),
        ("{afterOutage: false}", ", brakes: {afterOutage: true}", True),
    ],
)
def test_the_brake_after_an_outage_is_on_or_off(load_text: Load, controller: str, own: str, expected: bool) -> None:
    """It has no keys of its own. The autoscaler's value replaces the controller's."""
    found = brakes(scaler(load_text, own, head=f"controller: {{brakes: {controller}}}\n{HEAD}"))
    assert (found is not None and found.after_outage) is expected


def test_the_brake_after_an_outage_alone_is_a_brake(load_text: Load) -> None:
    assert brakes(scaler(load_text, ", brakes: {afterOutage: true}")) == Brakes(after_outage=True)
    assert brakes(scaler(load_text, ", brakes: {afterOutage: false}")) is None


@pytest.mark.parametrize("value", ["{}", "5m", "1"])
def test_the_brake_after_an_outage_takes_nothing_but_true_or_false(load_text: Load, value: str) -> None:
    """Its length is the scale-down window."""
    with pytest.raises(ConfigError, match=r"brakes\.afterOutage: expected true or false"):
        scaler(load_text, f", brakes: {{afterOutage: {value}}}")
