"""Several lanes on one state, at the same time."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqlalchemy import event

from autoscaler.decide import remember
from autoscaler.model import History
from autoscaler.record import State
from tests.record.conftest import Opener
from tests.record.samples import keep, rising, save, scaler, written

LANES, CYCLES = 4, 15


def _lane(state: State, lane: int) -> History:
    """What an autoscaler of its own should remember after some cycles."""
    name, expected, ledger = f"lane-{lane}", History(), state.ledger(f"lane-{lane}")
    for cycle in range(CYCLES):
        assert ledger.recall([scaler(name)]) == {name: expected}
        made = rising(cycle, name=name)
        ledger.intend([made])
        save(ledger, written(made))
        state.archive.latest()
        expected = remember(scaler(name), expected, written(made))
    return expected


def test_lanes_share_one_state(opener: Opener) -> None:
    """Each connection's cycle commits by itself, at the same time as others; readers look on."""
    state = opener.state()
    with ThreadPoolExecutor(LANES) as pool:
        expected = list(pool.map(lambda lane: _lane(state, lane), range(LANES)))
    opener.close()
    state = opener.state()
    for lane in range(LANES):
        name = f"lane-{lane}"
        assert state.ledger(name).recall([scaler(name)]) == {name: expected[lane]}
    assert [row.count for row in opener.archive().events()] == [CYCLES] * LANES


def test_histories_are_loaded_and_recorded_with_a_handful_of_statements(opener: Opener) -> None:
    """Ten thousand autoscalers start as fast as one; a statement each for 64 of them is what there may be."""
    count = 300
    keep(opener.ledger(), *(rising(name=f"s{k}") for k in range(count)))
    ledger = opener.restart()
    statements: list[str] = []

    def note(*call: Any) -> None:
        statements.append(call[2])

    for engine in (ledger._shared.readers, ledger._shared.database._engine):
        event.listen(engine, "before_cursor_execute", note)
    scalers = [scaler(f"s{k}") for k in range(count)]
    assert len(ledger.recall(scalers)) == count
    chunks = count // 64 + 1
    assert len([statement for statement in statements if statement.startswith("SELECT")]) <= 7 + chunks
    save(ledger, *(rising(1, name=one.name) for one in scalers))  # the first also looks what is too old
    ledger.recall(scalers)
    statements.clear()
    ledger.intend([rising(2, name=one.name) for one in scalers])
    save(ledger, *(written(rising(2, name=one.name)) for one in scalers))
    assert len(statements) < 20
