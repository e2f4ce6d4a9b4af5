"""A state that an earlier version or a release wrote is opened; its decisions are repeated, and all in it goes on."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url

from autoscaler.decide import decide
from autoscaler.model import Autoscaler, Decision, History, Observed
from autoscaler.record import schema, versions
from autoscaler.record.housekeeping import Retention
from autoscaler.record.ledger import Ledger
from autoscaler.record.state import State
from autoscaler.record.values import Record
from autoscaler.rules import RULES
from autoscaler.target.scaled import AS_WRITTEN, Identify
from autoscaler.version import VERSION
from autoscaler.whatif.replay.repetition import repeated, same_decision
from tests.decide.build import NOW
from tests.record.golden.write import (
    HERE,
    LOADS,
    PERIOD,
    SCHEMA,
    identify_of,
    observation_of,
    of_connection,
    run,
    scalers_of,
)
from tests.record.postgresql import empty_state

OLDEST = 13
NUMBERS = sorted(int(file.stem.removeprefix("state-")) for file in HERE.glob("state-*.db"))
"""The versions with a golden state."""


def sqlite(number: int, folder: Path, _request: pytest.FixtureRequest) -> str:
    shutil.copy(HERE / f"state-{number}.db", folder / "state.db")
    return f"sqlite:///{folder / 'state.db'}"


def postgresql(number: int, _folder: Path, request: pytest.FixtureRequest) -> str:
    url = empty_state(request.getfixturevalue("postgresql"))
    name = str(make_url(url).username)
    statements = (HERE / f"state-{number}.sql").read_text(encoding="utf-8")
    statements = statements.replace(f"CREATE SCHEMA {SCHEMA};", "").replace(f"{SCHEMA}.", f"{name}.")
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.connection.driver_connection.execute(statements)  # type: ignore[union-attr]  # many statements
    engine.dispose()
    return url


@pytest.fixture(params=[sqlite, pytest.param(postgresql, marks=pytest.mark.slow)], ids=["sqlite", "postgresql"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[int], str]:
    """Return a function that returns the address of a copy of the golden state of a version."""
    return lambda number: str(request.param(number, tmp_path, request))


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[str], State]]:
    states = list[State]()

    def open_it(url: str) -> State:
        state = State.open(url, tmp_path, Retention())
        states.append(state)
        if state.lease is not None:
            state.lease.turn()
        return state

    yield open_it
    for state in states:
        state.close()


def test_each_step_of_the_schema_begins_at_a_golden_state_or_at_the_end_of_a_step() -> None:
    """A version that no release has needs no golden state of its own."""
    assert NUMBERS[0] == OLDEST
    assert NUMBERS[-1] <= schema.VERSION
    assert sorted(int(file.stem.removeprefix("state-")) for file in HERE.glob("state-*.sql")) == NUMBERS
    assert list(versions.MIGRATIONS) == list(range(OLDEST, schema.VERSION))


@pytest.mark.parametrize("number", NUMBERS)
def test_a_golden_state_is_opened_and_goes_on(
    number: int, old: Callable[[int], str], opened: Callable[[str], State], tmp_path: Path
) -> None:
    scalers, url = scalers_of(tmp_path), old(number)
    state = opened(url)
    scalers = [each for each in scalers if state.archive.knows(each.name)]
    cycles = 0
    for scaler in scalers:
        for record in state.archive.records(scaler.name):
            assert record.observation is not None
            assert record.history is not None
            assert (record.version is None) == (number == OLDEST)
            again = repeated(record.scaler, record.observation, record.history, record.decision)
            assert same_decision(record.decision, again) or (number == OLDEST and told(record.decision) == told(again))
            cycles += 1
    assert cycles == len(LOADS) * len(scalers)
    known, ledgers = dict[str, History](), dict[str, Ledger]()
    for connection, its in of_connection(scalers).items():
        ledger = ledgers[connection] = state.ledger(connection)
        ledger.follow(its, scaled=scaled_of(number, tmp_path))
        ledger.claim()
        known |= {each.name: history for each, history in zip(its, ledger.recall(its).values(), strict=True)}
        assert ledger.adapter_memory() == {its[0].target: {"failures": 2}}
    assert known["pending"].pending is not None
    assert known["drained"].manual.pause is not None
    assert known["idle"].manual.override is not None
    assert all(known[scaler.name].hpa.recommendations for scaler in scalers if scaler.name != "idle")
    remembering = {kind.name for kind in RULES if kind.memory is not None}
    if "deployed" not in known:  # an older one, in which no deployment has reset a size
        remembering.remove("recover_size")
    assert remembering <= {name for each in known.values() for name in each.rules.of}
    sizes = {each.name: known[each.name].hpa.status.desired or 1 for each in scalers}
    for connection, its in of_connection(scalers).items():
        run(ledgers[connection], its, sizes, len(LOADS) + 1, 30)
    assert {each.decision.now for each in newest(state, scalers)} == {NOW + (len(LOADS) + 1) * PERIOD}
    assert {each.version for each in newest(state, scalers)} == {VERSION}


def told(decision: Decision) -> object:
    """Return a decision without its sentences, which changed until the first release."""
    steps = [(step.source, str(step.reason), step.before, step.after) for step in decision.trace]
    conditions = [(str(each.type), each.status, str(each.reason)) for each in decision.conditions]
    return decision.desired, decision.change, conditions, steps


def scaled_of(number: int, folder: Path) -> Identify:
    """Return what the autoscalers of the golden state scale. The oldest was written without the connection's type."""
    return AS_WRITTEN if number == OLDEST else identify_of(folder)


def newest(state: State, scalers: list[Autoscaler]) -> list[Record]:
    """Return the newest cycle of each."""
    found = [state.archive.record_at(each.name) for each in scalers]
    return [each for each in found if each is not None]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_window_of_a_golden_state_holds(
    number: int, old: Callable[[int], str], opened: Callable[[str], State], tmp_path: Path
) -> None:
    """The load falls to nothing while the daemon is replaced."""
    (scaler, *_), state = scalers_of(tmp_path), opened(old(number))
    ledger = state.ledger("fleet")
    ledger.follow([scaler], scaled=scaled_of(number, tmp_path))
    ledger.claim()
    history = ledger.recall([scaler])[scaler.name]
    size = max(each.replicas for each in history.hpa.recommendations)
    seen = observation_of(scaler, size, 1)
    made = decide(scaler, seen, history, NOW + (len(LOADS) + 1) * PERIOD)
    assert made.desired == size
    assert ledger.record({scaler.name: scaler}, Observed({scaler.name: seen}), [made]) == {}
