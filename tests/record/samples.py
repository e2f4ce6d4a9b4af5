"""Plain values to record."""

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import func, select

from autoscaler.decide import apply_outcome
from autoscaler.model import (
    HPA,
    Autoscaler,
    AwaitingDrain,
    Condition,
    ConditionType,
    Decision,
    DrainOutcome,
    DrainReport,
    Event,
    EventType,
    Instance,
    InstanceReading,
    Limits,
    MetricOutcome,
    MetricSpec,
    MetricTarget,
    MetricType,
    Observation,
    Observed,
    Phase,
    Query,
    Recommendation,
    Remembered,
    Sample,
    ScaleChange,
    ScaleEvent,
    Sightings,
    Status,
    Step,
    TargetRef,
    TargetState,
    TargetType,
    Written,
)
from autoscaler.record import schema
from autoscaler.record.ledger import Ledger
from tests.decisions import remembering
from tests.replaced import replace

START = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
FLEET = "fleet"
"""The adapter connection of all targets here."""
CPU = MetricTarget(TargetType.UTILIZATION, 60)
QUEUE = MetricSpec(MetricType.EXTERNAL, "queue", MetricTarget(TargetType.AVERAGE_VALUE, 1000), Query("q"))
"""Asks for a replica for each unit of its value."""


def at(seconds: float) -> datetime:
    """Return a time of the test's own clock."""
    return START + timedelta(seconds=seconds)


def scaler(name: str = "web", target: str | None = None, maximum: int = 20) -> Autoscaler:
    metric = MetricSpec(MetricType.RESOURCE, "cpu", CPU, Query("rate(cpu[2m])"), request=4000)
    return Autoscaler(name, TargetRef(FLEET, target or f"{name}-asg"), 1, maximum, (metric,))


def serving(ledger: Ledger, *targets: TargetRef) -> Ledger:
    """Return the ledger of a shard that scales these targets."""
    ledger.follow([replace(scaler(str(number)), target=target) for number, target in enumerate(targets)])
    return ledger


def observation(replicas: int = 5, busy: int = 2500) -> Observation:
    names = [f"i-{k}" for k in range(replicas)]
    instances = tuple(
        Instance(name, Phase.RUNNING, ready=True, started_at=START, identities=frozenset({name, f"{name}:9100"}))
        for name in names
    )
    sample = Sample(busy, START, timedelta(minutes=2))
    reading = InstanceReading(dict.fromkeys(names, sample), dict.fromkeys(names, 4000))
    return Observation(TargetState(replicas, replicas, instances, Limits(1, 50)), (reading,))


def decision(
    seconds: float = 0, name: str = "web", target: str | None = None, size: int = 5, events: Sequence[Event] = ()
) -> Decision:
    """Return a decision that changes nothing and keeps its recommendation."""
    now = at(seconds)
    metric = MetricOutcome("cpu", MetricType.RESOURCE, CPU, average_utilization=60 + size, ratio=1.05, proposal=size)
    return Decision(
        name=name,
        target=TargetRef(FLEET, target or f"{name}-asg"),
        now=now,
        dry_run=False,
        current=5,
        desired=size,
        change=None,
        conditions=(Condition(ConditionType.ABLE_TO_SCALE, True, "ReadyForNewScale", "fine", now),),
        events=tuple(events),
        metrics=(metric,),
        trace=(Step(HPA, "DesiredWithinRange", 5, size, "inside the bounds"),),
        remembered=Remembered(Status(5, size, (metric,)), recommendations=(Recommendation(size, now),)),
    )


def rising(seconds: float = 0, size: int = 8, name: str = "web", target: str | None = None) -> Decision:
    """Return a decision to write a larger size."""
    plain = decision(seconds, name, target, size=size)
    change = ScaleChange(f"{plain.name}-{seconds}", size, 5, None, "cpu above target")
    return remembering(replace(plain, change=change), scale_event=ScaleEvent(size - 5, plain.now))


def falling(seconds: float, name: str, size: int = 2) -> Decision:
    """Return a decision to scale in from 5 to this size."""
    plain = decision(seconds, name, name, size=size)
    return replace(plain, change=ScaleChange(f"{name}-{seconds}", size, 5, None, "cpu below target"))


def written(made: Decision) -> Decision:
    assert made.change is not None
    return apply_outcome(made, Written(made.change.size))


def event(reason: str = "SuccessfulRescale", message: str = "New size: 8") -> Event:
    return Event(EventType.NORMAL, reason, message)


def keep(
    ledger: Ledger, *decisions: Decision, scalers: Sequence[Autoscaler] = (), seen: Observation | None = None
) -> None:
    """Intend and record these decisions, about autoscalers as `scaler` makes them."""
    used = {one.name: one for one in scalers or [scaler(made.name, made.target.name) for made in decisions]}
    ledger.recall(list(used.values()))
    save(ledger, *decisions, scalers=used, seen=seen)


def save(
    ledger: Ledger,
    *decisions: Decision,
    scalers: Mapping[str, Autoscaler] | None = None,
    seen: Observation | None = None,
    sightings: Sightings | None = None,
) -> None:
    """Recall, then record. `sightings`: of the target of the first decision."""
    used = scalers or {made.name: scaler(made.name, made.target.name) for made in decisions}
    new = {} if sightings is None else {decisions[0].target: sightings}
    observed = Observed({made.name: seen or observation() for made in decisions}, new)
    ledger.record(used, observed, decisions)
    if decisions:
        ledger._context.housekeeper.tidy(decisions[0].now)  # as the daemon's upkeep does, sooner or later


def count_rows(ledger: Ledger, table: str) -> int:
    """Return the number of rows."""
    with ledger._context.readers.begin() as connection:
        query = select(func.count()).select_from(schema.metadata.tables[table])
        return int(connection.execute(query).scalar_one())


def count_blocks(ledger: Ledger, *, packed: bool) -> int:
    """Return the number of packed blocks, or of pages."""
    with ledger._context.readers.begin() as connection:
        query = select(func.count()).where(schema.block.c.packed == packed)
        return int(connection.execute(query).scalar_one())


def drains(chance: random.Random) -> tuple[tuple[AwaitingDrain, ...], tuple[DrainReport, ...]]:
    """Return some instances that await their drain, and reports of their drains."""
    outcomes = (None, DrainOutcome.DONE, DrainOutcome.TIMED_OUT)
    names = [f"i-9{number}" for number in range(3) if chance.random() < 0.5]
    reports = [
        DrainReport(name, chance.choice(["", "busy"]), chance.choice(outcomes), chance.random() < 0.5) for name in names
    ]
    return tuple(map(AwaitingDrain, names)), tuple(reports)


def noise(seed: int, replicas: int = 200) -> Observation:
    """Return an observation that compresses badly."""
    chance, seen = random.Random(seed), observation(replicas)
    (reading,) = seen.readings
    assert isinstance(reading, InstanceReading)
    samples = {name: replace(sample, value=chance.randrange(10**9)) for name, sample in reading.samples.items()}
    return replace(seen, readings=(replace(reading, samples=samples),))
