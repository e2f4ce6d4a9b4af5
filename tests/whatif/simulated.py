"""A target under load on a virtual clock, and a candidate that replays its cycles at its own size."""

from collections.abc import Mapping
from datetime import timedelta

from autoscaler.model import (
    Autoscaler,
    Decision,
    Failure,
    Instance,
    InstanceReading,
    MetricType,
    Observation,
    Phase,
    Reading,
    Sample,
    TargetState,
    TargetType,
    ValueReading,
)
from autoscaler.whatif.past.past import Cycle
from autoscaler.whatif.replay.fleet import Fleet
from autoscaler.whatif.replay.replay import Candidate, Replay
from tests.decide.build import LONG_AGO, NOW

START_UP = timedelta(seconds=40)
WINDOW = timedelta(seconds=10)


class SimulatedTarget:
    """Instances share the load evenly once they are ready, START_UP after their start. The size stays."""

    def __init__(self, autoscaler: Autoscaler, size: int) -> None:
        self.autoscaler, self.size, self.now = autoscaler, size, NOW
        self.replay = Replay(Candidate("candidate", autoscaler), START_UP)
        self.started = {f"i-{number}": LONG_AGO - NOW for number in range(1, size + 1)}
        """Start of each instance, relative to NOW."""

    @property
    def fleet(self) -> Fleet:
        """The candidate's instances."""
        assert self.replay._fleet is not None
        return self.replay._fleet

    def is_ready(self, name: str) -> bool:
        """Return whether an instance carries load."""
        return NOW + self.started[name] + START_UP <= self.now

    def state(self) -> TargetState:
        """Return the target's state."""
        found = []
        for name, since in self.started.items():
            ready, started = self.is_ready(name), NOW + since
            phase = Phase.RUNNING if ready else Phase.PENDING
            turned = started + START_UP if ready else started
            found.append(Instance(name, phase, ready, ready_transition=turned, started_at=started))
        return TargetState(self.size, self.size, tuple(found))

    def readings(self, load: int) -> tuple[Reading, ...]:
        """Return the readings under a load in thousandths: a total, or one instance's share for a `value`."""
        ready = [name for name in self.started if self.is_ready(name)]
        found = list[Reading]()
        for metric in self.autoscaler.metrics:
            if metric.type in (MetricType.OBJECT, MetricType.EXTERNAL):
                whole = metric.target.type is TargetType.AVERAGE_VALUE
                found.append(ValueReading((load if whole else load // max(1, len(ready)),)))
                continue
            upto = [load * place // len(ready) for place in range(len(ready) + 1)] if ready else []
            samples = {
                name: Sample(upto[place + 1] - upto[place], self.now, WINDOW) for place, name in enumerate(ready)
            }
            found.append(InstanceReading(samples, dict.fromkeys(self.started, 1000)))
        return tuple(found)

    def cycle(self, load: int | Mapping[int, Reading | Failure], *, after: float = 15) -> Decision:
        """Replay one cycle, `after` seconds after the last. `load`: in thousandths, or the readings by position."""
        self.now += timedelta(seconds=after)
        readings = self.readings(load) if isinstance(load, int) else tuple(load.values())
        return self.see(Observation(self.state(), readings))

    def see(self, observed: Observation) -> Decision:
        """Replay a cycle with this observation."""
        found = self.replay.step(Cycle(self.now, observed, self.autoscaler))
        assert found is not None
        return found.decision
