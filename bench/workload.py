"""What `bench.state` records: a fleet of constant size, with constant or moving loads."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from autoscaler.decide import apply_outcome, decide
from autoscaler.model import (
    DEFAULT_SCALE_DOWN,
    DEFAULT_SCALE_UP,
    Autoscaler,
    Behavior,
    Decision,
    History,
    Instance,
    InstanceReading,
    Limits,
    MetricSpec,
    MetricTarget,
    MetricType,
    Observation,
    Phase,
    Query,
    Sample,
    TargetRef,
    TargetState,
    TargetType,
)

PERIOD: Final = timedelta(seconds=15)
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_CAPACITY: Final = 4_000
"""The request of each instance, in thousandths of a core."""


@dataclass(frozen=True)
class Workload:
    """`autoscalers` with one cpu metric and `instances` instances each."""

    autoscalers: int
    instances: int
    moving: bool
    """True: each sample is a random value from 1.5 to 3 cores in each cycle. False: always 2.4."""
    restless: bool = False
    """True: the average leaves the tolerance every few cycles, so conditions change."""

    def scalers(self) -> Sequence[Autoscaler]:
        """Make autoscalers that cannot change size, because recording is measured, not scaling."""
        target = MetricTarget(TargetType.UTILIZATION, 60)
        wide = Behavior(replace(DEFAULT_SCALE_UP, tolerance=0.9), replace(DEFAULT_SCALE_DOWN, tolerance=0.9))
        cpu = MetricSpec(MetricType.RESOURCE, "cpu", target, Query("rate(cpu[2m])"), request=_CAPACITY)
        size = self.instances
        return [
            Autoscaler(
                f"web-{k:03}",
                TargetRef("fleet", f"web-asg-{k:03}"),
                size,
                size,
                (cpu,),
                None if self.restless else wide,
            )
            for k in range(self.autoscalers)
        ]

    def states(self) -> Sequence[TargetState]:
        """Return one target state for each autoscaler, the same in every cycle."""
        return [
            TargetState(
                self.instances,
                self.instances,
                tuple([_instance(k, each) for each in range(self.instances)]),
                Limits(1, 1_000, "the group's MinSize and MaxSize"),
            )
            for k in range(self.autoscalers)
        ]

    def observe(
        self, scalers: Sequence[Autoscaler], states: Sequence[TargetState], now: datetime, chance: random.Random
    ) -> Mapping[str, Observation]:
        """Return the observations of one cycle, by autoscaler name."""
        found = {}
        for scaler, state in zip(scalers, states, strict=True):
            names = [instance.name for instance in state.instances]
            values = [chance.randrange(1_500, 3_000) if self.moving else 2_400 for _ in names]
            samples = {
                name: Sample(value, now, timedelta(minutes=2)) for name, value in zip(names, values, strict=True)
            }
            reading = InstanceReading(samples, dict.fromkeys(names, _CAPACITY))
            found[scaler.name] = Observation(state, (reading,))
        return found


def decisions_of(
    scalers: Sequence[Autoscaler],
    observed: Mapping[str, Observation],
    histories: Mapping[str, History],
    now: datetime,
) -> Sequence[Decision]:
    """Return the decisions; sizes stay, so nothing is written."""
    return [
        apply_outcome(decide(scaler, observed[scaler.name], histories[scaler.name], now), None) for scaler in scalers
    ]


def _instance(scaler: int, number: int) -> Instance:
    name = f"i-{scaler:08x}{number:08x}"
    started = START - timedelta(hours=1 + scaler % 50, minutes=number)
    address = f"10.{scaler % 250}.{number // 250}.{number % 250}"
    return Instance(
        name,
        Phase.RUNNING,
        ready=True,
        ready_transition=started + timedelta(seconds=40),
        started_at=started,
        identities=frozenset({name, address, f"{address}:9100"}),
    )
