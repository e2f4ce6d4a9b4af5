"""The short form of `make fuzz`: a minute of inputs, and the fuzzer itself."""

import time
from random import Random

import pytest

from bench.fuzz import run as fuzz
from bench.fuzz.damage import damaged
from bench.fuzz.targets import TARGETS
from bench.fuzz.texts import Quantities

SECONDS = 6
"""Seconds for each target. The number of inputs depends on the machine; whether one is a defect does not."""


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_no_input_is_a_crash_or_a_hang(target: str) -> None:
    """Foreign input is accepted or refused with a message. The seed is arbitrary; `make fuzz` has more."""
    found = fuzz.run(target, 20260101, range(1_000_000), SECONDS)
    assert found.defects == []
    assert found.taken > 0, "inputs are so wrong that only the first reader sees them"
    assert found.inputs > 10


def test_an_input_is_made_again_by_its_number() -> None:
    """Otherwise a defect could not be examined."""
    first, second = (Quantities().make(Random("1/quantities/7")) for _ in range(2))
    assert first == second
    assert damaged(Random(1), ["abc"]) == damaged(Random(1), ["abc"])


class _Broken(Quantities):
    def read(self, given: bytes) -> bool:
        if b"e" in given:
            raise ZeroDivisionError
        if b"m" in given:
            time.sleep(60)
        return super().read(given)


def test_a_crash_and_a_hang_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fuzzer that cannot fail finds nothing."""
    monkeypatch.setitem(TARGETS, "broken", (_Broken, 0.0))
    found = fuzz.run("broken", 1, range(200), hang_seconds=0.01)
    said = "\n".join(found.defects)
    assert "ZeroDivisionError" in said
    assert "Hang: it took more than" in said
    assert found.inputs < 200, "it continues after so many defects"
