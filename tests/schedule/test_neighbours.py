"""Whatever the other autoscalers receive, an autoscaler gets the same decision as alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.act.actuator import Actuator
from autoscaler.clock import SystemClock
from autoscaler.cycle import CycleResult, Ports, reconcile
from autoscaler.decide import apply_outcome, decide, remember
from autoscaler.drain.drainer import Drainer
from autoscaler.errors import TargetError
from autoscaler.model import (
    MAX_SIZE,
    Autoscaler,
    Behavior,
    Call,
    Condition,
    ConditionType,
    Conflict,
    Decision,
    Failure,
    Held,
    History,
    Hold,
    HoldReason,
    Instance,
    InstanceReading,
    Limits,
    MetricType,
    Observation,
    Observed,
    PendingWrite,
    Phase,
    Recommendation,
    Sample,
    ScaleChange,
    ScaleEvent,
    Status,
    TargetRef,
    TargetState,
    TargetType,
    Unchanged,
    ValueReading,
    Written,
)
from autoscaler.observe.targets import Connection, begin
from autoscaler.record.housekeeping import Retention
from autoscaler.record.ledger import Ledger
from autoscaler.record.state import State
from autoscaler.target import Adapter
from autoscaler.target.contract import RecordingLogger
from tests.clocks import FakeClock
from tests.decide.build import CPU_60, QUEUE_15, metric
from tests.replaced import replace

PER_INSTANCE = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 1000)
THREE = (QUEUE_15, PER_INSTANCE, CPU_60)
NAMES = ("odd", "good", "other")
SCALERS = tuple(
    Autoscaler(name, TargetRef("fleet", name), 1, 50, metrics, Behavior())
    for name, metrics in zip(NAMES, (THREE, (QUEUE_15,), THREE), strict=True)
)
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)

anything: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([-1, 0, 1, MAX_SIZE, MAX_SIZE + 1, 2**63 - 1, 2**63, 10**400]),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["\ud800", "\x00", "\u202e", "x" * 5000, b"bytes", object(), (), [], {}, {None: None}]),
    st.datetimes(),
    st.datetimes(timezones=st.just(UTC)),
    st.timedeltas(),
    st.sampled_from([KeyError, ValueError("odd"), Phase.FAILED, EPOCH, timedelta.max]),
)


def mostly(right: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly valid, and one time in ten anything: input with a single wrong value reaches further code."""
    return st.integers(0, 9).flatmap(lambda dice: right if dice else anything)


def tuples(elements: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return mostly(st.lists(elements, max_size=3).map(tuple))


sizes = mostly(st.integers(0, 20) | st.just(MAX_SIZE))
milli = mostly(st.integers(0, 2**63 - 1))
times = mostly(st.sampled_from([EPOCH, EPOCH - timedelta(hours=1), datetime.max.replace(tzinfo=UTC)]))
texts = mostly(st.sampled_from(["a", "b", "c"]))
words = texts.filter(lambda each: isinstance(each, str))
instances = st.builds(
    Instance,
    texts,
    mostly(st.sampled_from(Phase)),
    mostly(st.sampled_from([True, False, None])),
    times,
    times,
    mostly(st.booleans()),
    mostly(st.frozensets(st.one_of(words, st.none()), max_size=3)),
    mostly(st.just({"cpu": 1000})),
    mostly(st.just({})),
    mostly(st.integers(1, MAX_SIZE)),
    texts,
)
reasons = mostly(st.builds(HoldReason, texts, texts))
states = mostly(
    st.builds(
        TargetState,
        sizes,
        sizes,
        tuples(instances),
        mostly(st.builds(Limits, sizes, sizes, texts)),
        mostly(st.builds(Hold, st.none() | reasons, st.none() | reasons)),
        texts,
        tuples(texts),
    )
    | st.builds(TargetError, texts)
)
samples = mostly(st.builds(Sample, milli, times, mostly(st.just(timedelta(seconds=60)))))
readings = mostly(
    st.one_of(
        st.builds(ValueReading, tuples(milli)),
        st.builds(InstanceReading, mostly(st.dictionaries(words, samples, max_size=3))),
        st.builds(Failure, texts),
    )
)
histories = st.builds(
    History,
    tuples(mostly(st.builds(Recommendation, sizes, times))),
    tuples(mostly(st.builds(ScaleEvent, sizes, times))),
    tuples(mostly(st.builds(ScaleEvent, sizes, times))),
    tuples(mostly(st.builds(Condition, st.sampled_from(ConditionType), mostly(st.booleans()), texts, texts, times))),
    mostly(st.builds(Status, sizes, sizes)),
    mostly(st.none() | st.builds(PendingWrite, sizes, sizes, times)),
)
outcomes = mostly(
    st.one_of(
        st.builds(Written, sizes),
        st.just(Unchanged()),
        st.builds(Held, reasons),
        st.builds(Conflict, texts),
        st.sampled_from([SystemExit(3), RuntimeError("odd"), TargetError("odd")]),
    )
)


def good_state(size: int) -> TargetState:
    members = tuple(
        Instance(str(n), Phase.RUNNING, True, EPOCH, EPOCH, identities=frozenset({str(n)})) for n in range(size)
    )
    return TargetState(size, size, members)


@dataclass
class Neighbour:
    """The inputs of one autoscaler. None stands for a valid one."""

    state: Any = field(default_factory=lambda: good_state(3))
    readings: Any = (ValueReading((90_000,)), Failure("down"), Failure("down"))
    history: Any = None
    outcome: Any = None


neighbours = st.one_of(
    st.builds(Neighbour, state=states),
    st.builds(Neighbour, readings=mostly(st.tuples(readings, readings, readings))),
    st.builds(Neighbour, history=mostly(histories)),
    st.builds(Neighbour, outcome=outcomes),
    st.builds(Neighbour, states, mostly(st.tuples(readings, readings, readings)), mostly(histories), outcomes),
)


class Fleet(Adapter):
    """An adapter that returns the given answers for the neighbours."""

    def __init__(self) -> None:
        self.states: dict[str, Any] = {}
        self.outcomes: dict[str, Any] = {}

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, Any]:
        return {target: self.states[target.name] for target in targets}

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> Any:
        outcome = self.outcomes.get(target.name, Written(change.size))
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


class Remembering:
    """A ledger with given histories of the neighbours."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.histories: dict[str, Any] = {}
        self.recalled: Mapping[str, History] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ledger, name)

    def recall(self, scalers: Sequence[Autoscaler]) -> Mapping[str, History]:
        self.recalled = dict(self.ledger.recall(scalers)) | self.histories
        return self.recalled


class Shard(Ports):
    """Ports over a real connection, actuator and ledger, with given readings and histories of the neighbours."""

    def __init__(self, ledger: Ledger, clock: FakeClock) -> None:
        self.fleet, log = Fleet(), RecordingLogger()
        self.memory = Remembering(ledger)
        self.connection = Connection("fleet", self.fleet, SystemClock(), log)
        actuator, drainer = Actuator(self.fleet, clock, log), Drainer(self.fleet, {}, clock, log)
        super().__init__(cast("Any", None), cast("Ledger", self.memory), actuator, drainer, clock)
        self.readings: dict[str, Any] = {}

    def observe(self, scalers: Sequence[Autoscaler], call: Call) -> Observed:
        within = replace(call, deadline=SystemClock().monotonic() + 30)
        found = begin({"fleet": self.connection}, [each.target for each in scalers], within).states()
        self.observed = Observed(
            {each.name: Observation(found[each.target], self.readings[each.name]) for each in scalers}
        )
        return self.observed


class ThreeAutoscalers:
    """A state in a folder, and cycles of a valid autoscaler between two neighbours."""

    def __init__(self, folder: Path) -> None:
        self.state = State.open(None, folder, Retention())
        self.clock = FakeClock()
        self.shard = Shard(self.state.ledger("fleet"), self.clock)

    def cycle(self, odd: Neighbour, other: Neighbour, size: int, load: int) -> CycleResult:
        """Run a cycle, and check that the valid autoscaler is decided, written and recorded as if alone."""
        self.clock.advance(15)
        around, mine = {"odd": odd, "other": other}, (ValueReading((load,)),)
        shard, good, now = self.shard, SCALERS[NAMES.index("good")], self.clock.now()
        shard.fleet.states = {name: each.state for name, each in around.items()} | {"good": good_state(size)}
        shard.fleet.outcomes = {name: each.outcome for name, each in around.items() if each.outcome}
        shard.readings = {name: each.readings for name, each in around.items()} | {"good": mine}
        shard.memory.histories = {name: each.history for name, each in around.items() if each.history}
        done = reconcile(SCALERS, Call(now, self.clock.monotonic() + 15), shard)
        known = shard.memory.recalled["good"]
        alone = decide(good, Observation(good_state(size), mine), known, now)
        alone = alone if alone.change is None else apply_outcome(alone, Written(alone.change.size))
        assert [made for made in done.decisions if made.name == "good"] == [alone]
        assert shard.memory.ledger.recall([good])["good"] == remember(good, known, alone)
        assert {*done.broken, *(made.name for made in done.decisions)} == set(NAMES)
        return done

    def records(self, name: str) -> list[Decision]:
        """Return all records of one autoscaler."""
        return [record.decision for record in self.state.archive.records(name)]


@pytest.fixture
def autoscalers(tmp_path: Path) -> Iterator[ThreeAutoscalers]:
    autoscalers = ThreeAutoscalers(tmp_path)
    yield autoscalers
    autoscalers.state.close()


@pytest.mark.slow
def test_an_autoscaler_is_decided_and_recorded_as_if_it_were_alone(autoscalers: ThreeAutoscalers) -> None:
    """Two of three on one connection have arbitrary states, readings, histories and outcomes."""

    @given(neighbours, neighbours, st.integers(1, 20), st.integers(0, 600_000))
    @settings(deadline=None, max_examples=60)
    def cycle(odd: Neighbour, other: Neighbour, size: int, load: int) -> None:
        autoscalers.cycle(odd, other, size, load)

    cycle()
    written = [made.written for made in autoscalers.records("good")]
    assert len(written) >= 60
    assert any(written)


@pytest.mark.slow
def test_no_adapters_answer_breaks_a_decision_or_its_record(autoscalers: ThreeAutoscalers) -> None:
    """It is an error of the target, which is decided, recorded and read like any other."""
    answered = st.builds(Neighbour, state=states) | st.builds(Neighbour, outcome=outcomes)

    @given(answered, answered, st.integers(1, 20), st.integers(0, 600_000))
    @settings(deadline=None, max_examples=60)
    def cycle(odd: Neighbour, other: Neighbour, size: int, load: int) -> None:
        assert not autoscalers.cycle(odd, other, size, load).broken

    cycle()
    assert len({len(autoscalers.records(name)) for name in NAMES}) == 1
    assert any(made.written for made in autoscalers.records("odd"))
