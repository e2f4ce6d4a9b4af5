from concurrent.futures import ThreadPoolExecutor

from autoscaler.decide import remember
from autoscaler.model import History
from autoscaler.record import Store
from tests.record.conftest import Opener
from tests.record.samples import keep, rising, scaler, written

LANES, CYCLES = 4, 15


def _lane(store: Store, lane: int) -> History:
    """What an autoscaler of its own should remember after some cycles."""
    name, expected = f"lane-{lane}", History()
    for cycle in range(CYCLES):
        assert store.recall([scaler(name)]) == {name: expected}
        made = rising(cycle, name=name)
        store.intend([made])
        keep(store, written(made))
        store.latest()
        expected = remember(scaler(name), expected, written(made))
    return expected


def test_lanes_share_one_store(opener: Opener) -> None:
    """Each connection's cycle commits by itself, at the same time as others."""
    store = opener.store()
    with ThreadPoolExecutor(LANES) as pool:
        expected = list(pool.map(lambda lane: _lane(store, lane), range(LANES)))
    opener.close()
    histories = opener.store().recall([scaler(f"lane-{lane}") for lane in range(LANES)])
    assert [histories[f"lane-{lane}"] for lane in range(LANES)] == expected
    assert len(opener.archive().events()) == LANES


def test_histories_are_loaded_with_a_handful_of_queries(opener: Opener) -> None:
    """Ten thousand autoscalers start as fast as one."""
    keep(opener.store(), *(rising(name=f"s{k}") for k in range(300)))
    opener.close()
    store = opener.store()
    from sqlalchemy import event

    statements: list[str] = []
    event.listen(store._engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
    scalers = [scaler(f"s{k}") for k in range(300)]
    assert len(store.recall(scalers)) == 300
    assert len([statement for statement in statements if statement.startswith("SELECT")]) == 5
    statements.clear()
    store.intend([rising(1, name=one.name) for one in scalers])
    keep(store, *(written(rising(1, name=one.name)) for one in scalers))
    assert len(statements) < 20
