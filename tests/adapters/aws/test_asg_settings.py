"""The settings of a connection."""

import pytest
from pydantic import ValidationError

from adapters.aws_asg.settings import AsgSettings

_ROLE = "arn:aws:iam::123456789012:role/path/scaler"


def test_everything_can_be_left_out() -> None:
    """The machine's own region and role suffice."""
    assert AsgSettings.model_validate({}) == AsgSettings()


def test_all_keys_are_taken_as_they_are_written() -> None:
    """Keys are camelCase, as in the whole file."""
    given = {
        "region": "eu-west-1",
        "profile": "night",
        "roleArn": _ROLE,
        "externalId": "customer-7",
        "endpointUrl": "http://127.0.0.1:5000",
        "honorCooldown": True,
        "onInstanceRefresh": "hold",
        "circuitBreaker": {"failures": 5, "retryAfter": "10m"},
    }
    assert AsgSettings.model_validate(given).model_dump(mode="json", by_alias=True) == given


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"region": "Ireland"}, "pattern"),
        ({"roleArn": "autoscaler"}, "pattern"),
        ({"externalId": "customer-7"}, "roleArn"),
        ({"endpointUrl": "127.0.0.1:5000"}, "is not a valid endpoint URL"),
        ({"endpointUrl": "http://me:secret@host"}, "without credentials"),
        ({"onInstanceRefresh": "wait"}, "holdScaleIn"),
        ({"circuitBreaker": {"failures": 0}}, "greater than or equal to 1"),
        ({"circuitBreaker": {"retryAfter": 60}}, "unit"),
        ({"regoin": "eu-west-1"}, "Extra inputs"),
    ],
)
def test_invalid_settings_are_refused(given: dict[str, object], said: str) -> None:
    """Errors appear at the start, not at the first use."""
    with pytest.raises(ValidationError, match=said):
        AsgSettings.model_validate(given)
