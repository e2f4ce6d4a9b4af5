"""The process' memory follows a pure function, and the disk must equal it."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoscaler.decide import remember
from autoscaler.model import Decision, History, PendingWrite, Recommendation, ScaleEvent
from tests.decisions import remembering
from tests.record.conftest import Opener
from tests.record.samples import at, decision, rising, save, scaler
from tests.replaced import replace

NAMES = ("a", "b")
AMOUNTS = st.lists(st.integers(1, 10**6), max_size=2)
"""Limits of what one decision adds to a list."""


@pytest.mark.slow
@given(st.data())
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_histories_are_exact_after_any_number_of_restarts(data: st.DataObject) -> None:
    expected = dict.fromkeys(NAMES, History())
    scalers = [scaler(name) for name in NAMES]
    with TemporaryDirectory() as folder:
        opener = Opener(None, Path(folder))
        try:
            ledger = opener.ledger()
            for seconds in range(0, 900 * data.draw(st.integers(1, 8), label="cycles"), 900):
                if data.draw(st.booleans(), label="restart"):
                    ledger = opener.restart()
                assert ledger.recall(scalers) == expected
                made = [_drawn(data, name, seconds) for name in NAMES]
                if data.draw(st.booleans(), label="writes"):
                    ledger.intend([rising(seconds, name=name) for name in NAMES])
                    intent = PendingWrite(8, 5, at(seconds))
                    announced = {name: replace(history, pending=intent) for name, history in expected.items()}
                    if not data.draw(st.booleans(), label="outcome"):
                        expected = announced
                        continue
                save(ledger, *made)
                # the memory equals what the cycle decided from, because its own intent has an outcome
                expected = {one.name: remember(scaler(one.name), expected[one.name], one) for one in made}
            assert opener.restart().recall(scalers) == expected
        finally:
            opener.close()


def _drawn(data: st.DataObject, name: str, seconds: int) -> Decision:
    sizes, ups, downs = (data.draw(AMOUNTS, label=label) for label in ("recommendations", "ups", "downs"))
    current = data.draw(st.sampled_from([None, 5]), label="current")
    return remembering(
        replace(decision(seconds, name), current=current),
        recommendations=tuple(Recommendation(size, at(seconds)) for size in sizes),
        scale_ups=tuple(ScaleEvent(change, at(seconds)) for change in ups),
        scale_downs=tuple(ScaleEvent(change, at(seconds)) for change in downs),
    )
