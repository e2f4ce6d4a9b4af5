"""The brakes that a configuration gives to an autoscaler."""

from datetime import timedelta

import pytest

from autoscaler import model
from tests.config.conftest import Load
from tests.config.test_load import HEAD, scaler


def test_an_autoscaler_has_no_brakes_unless_they_are_configured(load_text: Load) -> None:
    assert scaler(load_text).brakes == model.Brakes()
    assert scaler(load_text, ", brakes: {}").brakes == model.Brakes()


def test_a_brake_without_keys_has_its_defaults(load_text: Load) -> None:
    minutes = [timedelta(minutes=count) for count in (10, 5, 10)]
    assert scaler(load_text, ", brakes: {unfulfilled: {}, loss: {}, outsideChange: {}}").brakes == model.Brakes(
        model.UnfulfilledBrake(30, minutes[0]), model.LossBrake(30, minutes[1]), model.OutsideChangeBrake(minutes[2])
    )


@pytest.mark.parametrize(
    ("own", "loss"),
    [
        ("", model.LossBrake(50)),
        (", brakes: {loss: {hold: 1m}}", model.LossBrake(30, timedelta(minutes=1))),
        (", brakes: {loss: false}", None),
        (", brakes: {loss: null}", model.LossBrake(50)),
        (", brakes: {unfulfilled: {}}", model.LossBrake(50)),
    ],
)
def test_an_autoscalers_brake_replaces_the_controllers(load_text: Load, own: str, loss: model.LossBrake | None) -> None:
    """Each brake is replaced as a whole; a key without a value counts as omitted."""
    head = f"controller: {{brakes: {{loss: {{percent: 50}}, outsideChange: {{}}}}}}\n{HEAD}"
    brakes = scaler(load_text, own, head=head).brakes
    assert brakes.loss == loss
    assert brakes.outside_change == model.OutsideChangeBrake()
    assert (brakes.unfulfilled is None) == ("unfulfilled" not in own)


def test_a_controller_may_disable_a_brake_that_is_not_enabled(load_text: Load) -> None:
    assert scaler(load_text, head=f"controller: {{brakes: {{loss: false}}}}\n{HEAD}").brakes == model.Brakes()
