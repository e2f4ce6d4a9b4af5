"""The settings of an autoscaler, as a configuration gives them, are recorded with its decisions."""

from pathlib import Path

import pytest

from autoscaler.config.loader import load_text
from autoscaler.model import Autoscaler
from autoscaler.record.binary import Binary
from tests.config import drains
from tests.config.examples import EXAMPLES

TEXTS = [file.read_text() for file in EXAMPLES] + [
    drains.text("{command: [/usr/bin/drain, '{address}']}").replace("type: nodes", "type: nomad")
]


@pytest.mark.parametrize("text", TEXTS)
def test_each_autoscaler_that_loads_can_be_recorded(text: str) -> None:
    """A drain's command of a type of its own kept its autoscaler from being recorded, and so from being scaled."""
    binary = Binary[Autoscaler](Autoscaler)
    for scaler in load_text(Path("/etc/autoscaler/autoscaler.yaml"), text).autoscalers:
        assert binary.load(binary.dump(scaler)) == scaler
