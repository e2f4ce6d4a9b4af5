"""A Runtime in this process, on a state of its own and adapters that a test defines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest
from prometheus_client import CollectorRegistry

from autoscaler.clock import SystemClock
from autoscaler.config.settings import AdapterSection, PrometheusSource, Settings
from autoscaler.errors import AutoscalerError, TargetError
from autoscaler.metrics.metrics import Metrics
from autoscaler.model import Autoscaler, Call, ScaleChange, ScaleOutcome, TargetRef, TargetState, Written
from autoscaler.record.housekeeping import Retention
from autoscaler.record.state import State
from autoscaler.runtime.runtime import Runtime
from autoscaler.target import Adapter, AdapterContext, AdapterSettings
from autoscaler.target.contract.harness import RecordingLogger
from tests.replaced import replace
from tests.schedule.ports import scaler


class FakeAdapter(Adapter):
    """Every target has one instance, and every write succeeds."""

    def __init__(self, context: AdapterContext[Any]) -> None:
        self.context = context
        self.closed = 0

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        return {target: TargetState(1, 1, ()) for target in targets}

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        return Written(change.size)

    def close(self) -> None:
        self.closed += 1


_A = TypeVar("_A", bound=FakeAdapter)


class RuntimeHarness(Generic[_A]):
    """The Runtime, the adapters that it built, its log and its state."""

    def __init__(
        self, folder: Path, log: RecordingLogger, state: State, built: list[_A], options: Mapping[str, Any]
    ) -> None:
        self.folder, self.log, self.state, self.built = folder, log, state, built
        metrics = Metrics(CollectorRegistry(), SystemClock(), "0")
        self.runtime = Runtime(state, folder, SystemClock(), log, lambda batch: None, metrics, **options)

    def follow(
        self,
        sections: Mapping[str, AdapterSettings],
        scalers: Sequence[Autoscaler],
        url: str = "http://x",
        shards: int = 1,
    ) -> AutoscalerError | None:
        """Follow a configuration with these adapter connections, each of so many shards, and autoscalers."""
        return self.runtime.follow(
            Settings(
                path=Path("autoscaler.yaml"),
                prometheus={"default": PrometheusSource(url)},
                adapters={name: AdapterSection("fake", section, shards) for name, section in sections.items()},
                autoscalers=tuple(scalers),
            )
        )

    def served(self) -> Mapping[str, frozenset[str]]:
        """Name of a running shard -> names of its targets."""
        return {
            str(name): frozenset(each.target.name for each in one.wanted.scalers)
            for name, one in self.runtime.running.items()
        }


@contextmanager
def running_runtime(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    adapter: Callable[[AdapterContext[Any]], _A],
    log: RecordingLogger | None = None,
    **options: Any,
) -> Iterator[RuntimeHarness[_A]]:
    """Yield a Runtime whose adapters are of this type. `options`: of Runtime."""
    built: list[_A] = []

    def build(context: AdapterContext[Any]) -> _A:
        built.append(adapter(context))
        return built[-1]

    monkeypatch.setattr("autoscaler.runtime.building.load", lambda _type: build)
    state = State.open(None, folder, Retention())
    harness = RuntimeHarness(folder, log or RecordingLogger(), state, built, options)
    yield harness
    harness.runtime.close()
    state.close()


def on(adapter: str, name: str = "web", **changes: Any) -> Autoscaler:
    """Return an autoscaler whose target is on this connection."""
    return replace(scaler(name), target=TargetRef(adapter, name), **changes)
