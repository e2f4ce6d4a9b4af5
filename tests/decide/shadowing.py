"""A target under load, and its autoscaler on a virtual clock: live, or as a dry run."""

from collections.abc import Mapping
from datetime import timedelta

from autoscaler.errors import TargetError
from autoscaler.model import (
    Autoscaler,
    Decision,
    Failure,
    Instance,
    InstanceReading,
    MetricType,
    Phase,
    Reading,
    Sample,
    Shadow,
    TargetState,
    TargetType,
    ValueReading,
)
from tests.decide.build import LONG_AGO, NOW, Life
from tests.replaced import replace

START_UP = timedelta(seconds=40)
WINDOW = timedelta(seconds=10)


class SimulatedTarget(Life):
    """Instances share the load evenly once they are ready, START_UP after their start."""

    def __init__(self, autoscaler: Autoscaler, size: int, *, dry: bool = True) -> None:
        options = replace(autoscaler.options, start_up=START_UP)
        super().__init__(replace(autoscaler, dry_run=dry, options=options), size)
        self.started = {f"i-{number}": LONG_AGO - NOW for number in range(1, size + 1)}
        """Start of each instance, relative to NOW, in order of start."""
        self.named = size

    @property
    def shadow(self) -> Shadow:
        """The shadow of a dry run that has started."""
        assert self.history.shadow is not None
        return self.history.shadow

    def resize(self, size: int) -> None:
        """Change the target's size. Instances that are not ready leave first, then the oldest."""
        while len(self.started) > size:
            starting = [name for name in self.started if not self.is_ready(name)]
            del self.started[starting[-1] if starting else next(iter(self.started))]
        while len(self.started) < size:
            self.named += 1
            self.started[f"i-{self.named}"] = self.now - NOW
        super().resize(size)

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

    def cycle(
        self,
        load: int | Mapping[int, Reading | Failure],
        *,
        after: float = 15,
        unreadable: TargetError | None = None,
    ) -> Decision:
        """Run one cycle, `after` seconds after the last. `load`: in thousandths, or the readings by position."""
        self.now += timedelta(seconds=after)
        readings = self.readings(load) if isinstance(load, int) else load.values()
        return self.step(*readings, target=unreadable or self.state())
