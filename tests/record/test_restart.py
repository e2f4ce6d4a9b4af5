from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoscaler.decide import remember
from autoscaler.model import Decision, History, Intent, Recommendation, ScaleEvent, Slot
from autoscaler.record import Store
from tests.record.samples import at, decision, keep, rising, scaler

NAMES = ("a", "b")


@st.composite
def slots(draw: st.DrawFn, count: int, seconds: int) -> list[tuple[int, int, int]]:
    """(position, amount, seconds) that overwrite or append, as `decide` makes them for `count` entries."""
    made = []
    for _ in range(draw(st.integers(0, 2))):
        position = draw(st.integers(0, count))
        count = max(count, position + 1)
        made.append((position, draw(st.integers(1, 10**6)), seconds))
    return made


@given(st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_histories_survive_any_number_of_restarts_exactly(data: st.DataObject) -> None:
    """Memory follows the same pure function as the tests of the decisions do; the disk must say the same."""
    expected = dict.fromkeys(NAMES, History())
    scalers = [scaler(name) for name in NAMES]
    with TemporaryDirectory() as folder:
        store = Store.open(None, Path(folder), timedelta(days=1))
        try:
            for cycle in range(data.draw(st.integers(1, 8), label="cycles")):
                if data.draw(st.booleans(), label="restart"):
                    store.close()
                    store = Store.open(None, Path(folder), timedelta(days=1))
                assert store.recall(scalers) == expected
                made = [_drawn(data, name, expected[name], cycle) for name in NAMES]
                if data.draw(st.booleans(), label="writes"):
                    store.intend([rising(cycle, name=name) for name in NAMES])
                    intent = Intent(8, 5, at(cycle))
                    expected = {
                        name: replace(history, unfinished=intent, at=history.at or at(cycle))
                        for name, history in expected.items()
                    }
                if data.draw(st.booleans(), label="outcome"):
                    keep(store, *made)
                    expected = {one.name: remember(expected[one.name], one) for one in made}
            store.close()
            store = Store.open(None, Path(folder), timedelta(days=1))
            assert store.recall(scalers) == expected
        finally:
            store.close()


def _drawn(data: st.DataObject, name: str, history: History, cycle: int) -> Decision:
    recommendations = data.draw(slots(len(history.recommendations), cycle), label="recommendations")
    ups = data.draw(slots(len(history.scale_ups), cycle), label="ups")
    downs = data.draw(slots(len(history.scale_downs), cycle), label="downs")
    return replace(
        decision(cycle, name),
        current=data.draw(st.sampled_from([None, 5]), label="current"),
        recommendations=tuple(Slot(place, Recommendation(size, at(when))) for place, size, when in recommendations),
        scale_ups=tuple(Slot(place, ScaleEvent(change, at(when))) for place, change, when in ups),
        scale_downs=tuple(Slot(place, ScaleEvent(change, at(when))) for place, change, when in downs),
    )
