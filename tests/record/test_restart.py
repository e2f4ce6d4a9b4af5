from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoscaler.decide import remember
from autoscaler.model import Decision, History, Intent, Recommendation, ScaleEvent
from autoscaler.record import Store
from tests.record.samples import at, decision, keep, rising, scaler

NAMES = ("a", "b")


AMOUNTS = st.lists(st.integers(1, 10**6), max_size=2)
"""Of what one decision adds to a list."""


@given(st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_histories_survive_any_number_of_restarts_exactly(data: st.DataObject) -> None:
    """Memory follows the same pure function as the tests of the decisions do; the disk must say the same."""
    expected = dict.fromkeys(NAMES, History())
    scalers = [scaler(name) for name in NAMES]
    with TemporaryDirectory() as folder:
        store = Store.open(None, Path(folder), timedelta(days=1))
        try:
            for seconds in range(0, 900 * data.draw(st.integers(1, 8), label="cycles"), 900):
                if data.draw(st.booleans(), label="restart"):
                    store.close()
                    store = Store.open(None, Path(folder), timedelta(days=1))
                assert store.recall(scalers) == expected
                made = [_drawn(data, name, seconds) for name in NAMES]
                if data.draw(st.booleans(), label="writes"):
                    store.intend([rising(seconds, name=name) for name in NAMES])
                    intent = Intent(8, 5, at(seconds))
                    expected = {
                        name: replace(history, unfinished=intent, at=history.at or at(seconds))
                        for name, history in expected.items()
                    }
                if data.draw(st.booleans(), label="outcome"):
                    keep(store, *made)
                    expected = {one.name: remember(scaler(one.name), expected[one.name], one) for one in made}
            store.close()
            store = Store.open(None, Path(folder), timedelta(days=1))
            assert store.recall(scalers) == expected
        finally:
            store.close()


def _drawn(data: st.DataObject, name: str, seconds: int) -> Decision:
    sizes, ups, downs = (data.draw(AMOUNTS, label=label) for label in ("recommendations", "ups", "downs"))
    return replace(
        decision(seconds, name),
        current=data.draw(st.sampled_from([None, 5]), label="current"),
        recommendations=tuple(Recommendation(size, at(seconds)) for size in sizes),
        scale_ups=tuple(ScaleEvent(change, at(seconds)) for change in ups),
        scale_downs=tuple(ScaleEvent(change, at(seconds)) for change in downs),
    )
