"""Metrics with something to show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from prometheus_client import CollectorRegistry, ProcessCollector

from autoscaler.config.grants import Grant
from autoscaler.config.settings import Settings
from autoscaler.cycle import CycleResult
from autoscaler.errors import Problem, TargetUnavailable
from autoscaler.metrics.grants import watch_grants
from autoscaler.metrics.metrics import Metrics
from autoscaler.metrics.watch import (
    watch_discovery,
    watch_log,
    watch_queries,
    watch_shards,
    watch_state,
)
from autoscaler.model import (
    Autoscaler,
    ConditionType,
    ConnectionLimits,
    Decision,
    Direction,
    ManualControls,
    Override,
    Pause,
    RemovalBudget,
    Rules,
    ShardName,
    TargetRef,
    Written,
)
from autoscaler.observe.asked_alone import Why
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.plan import Question
from autoscaler.observe.queries import AskedAlone
from autoscaler.record.values import Cut, StateSize
from autoscaler.rules.brakes import Brakes
from autoscaler.rules.brakes.loss import LossBrake
from autoscaler.rules.drain import DrainRule
from autoscaler.runtime.leadership import watch_leadership
from autoscaler.view.discovered import DiscoveredFile, DiscoveredList, DiscoveredPolicy, DiscoveringConnection
from tests.clocks import FakeClock
from tests.decisions import NOW, bounds, condition, cpu, decision, rescale
from tests.replaced import replace

FLEET: Final = ShardName("fleet")
HEAVY: Final = AskedAlone(Question("default", "load"), Why.HEAVY, "did not answer within 5 s", ("web",))
LIMITS: Final = ConnectionLimits(RemovalBudget(5, timedelta(seconds=60)), 40)


WRONG: Final = Problem("shop.yaml", 1, 1, "", "the file is empty; write a list")
DISCOVERED: Final = DiscoveredList(
    files=(
        DiscoveredFile(
            file="autoscalers.d/shop/web.yaml",
            grant="shop",
            autoscalers=("shop-web",),
            dry_run=False,
            refused="2:1: invalid YAML",
            differences=(),
        ),
    ),
    connections=(
        DiscoveringConnection(name="nomad", at=NOW, found=3, refused=1, failing=1, failures=("shop: HTTP 403",)),
    ),
    policies=(
        DiscoveredPolicy(
            target="nomad/pay/api/api", autoscaler="pay.api.api", dry_run=True, refused=None, differences=("cooldown",)
        ),
        DiscoveredPolicy(
            target="nomad/pay/web/web", autoscaler="pay.web.web", dry_run=False, refused=None, differences=()
        ),
        DiscoveredPolicy(
            target="nomad/shop/<b>/q",
            autoscaler=None,
            dry_run=False,
            refused="check <c>: it is left out",
            differences=(),
        ),
    ),
)


CYCLE: Final = CycleResult(shard=FLEET, late_seconds=0.5, observing_seconds=0.1, seconds=0.2)


@dataclass
class FakeShards:
    """What `schedule.Shards` counts, of two connections."""

    hanging: Sequence[ShardName] = ()

    def missed(self) -> Mapping[str, int]:
        return {"fleet": 3, "swarm": 0}

    def hung(self) -> Sequence[ShardName]:
        return self.hanging

    def superseded(self) -> Mapping[str, int]:
        return {"fleet": 1, "swarm": 0}


def scaler(name: str = "web", **changes: Any) -> Autoscaler:
    """Return the autoscaler of `decision(name)`."""
    return replace(Autoscaler(name, TargetRef("fleet", f"{name}-asg"), 1, 10, ()), **changes)


class Shown:
    """Metrics of the adapter `fleet`, the Prometheus `default` and these autoscalers."""

    def __init__(self, *names: str) -> None:
        self.registry = CollectorRegistry()
        self.clock = FakeClock()
        self.metrics = Metrics(self.registry, self.clock, "1.2.3")
        self.configure(*map(scaler, names or ("web",)))

    def configure(self, *scalers: Autoscaler, limits: ConnectionLimits | None = None) -> None:
        self.metrics.configured(scalers, ["fleet"], ["default"], {} if limits is None else {"fleet": limits})

    def ended(self, *decisions: Decision, **keys: Any) -> None:
        self.metrics.cycle_ended(replace(CYCLE, decisions=decisions, **keys))

    def value(self, name: str, **labels: str) -> float | None:
        """Return the value, or None without such a series."""
        return self.registry.get_sample_value(f"autoscaler_{name}", labels)

    def series(self, name: str) -> list[Mapping[str, str]]:
        """Return the labels of every series of a name."""
        samples = (sample for metric in self.registry.collect() for sample in metric.samples)
        return [sample.labels for sample in samples if sample.name == f"autoscaler_{name}"]


def everything() -> Shown:
    """Return a registry in which every metric has a series, and each counter has counted."""
    shown = Shown("web", "api", "batch")
    rules = Rules([Brakes(loss=LossBrake()), DrainRule(command=("/bin/true",))])
    web = scaler("web", labels=(("team", "shop"),), rules=rules)
    shown.configure(web, scaler("api"), scaler("batch", dry_run=True), limits=LIMITS)
    of_teams = Settings(Path("a.yaml"), {}, {}, (), grants={"shop": Grant("shop-", 4)}, refused={"shop": (WRONG,)})
    watch_shards(shown.registry, FakeShards([ShardName("fleet", 2, 4)]))
    watch_queries(shown.registry, lambda: [HEAVY])
    watch_discovery(shown.registry, lambda: DISCOVERED)
    watch_log(shown.registry, lambda: 3)
    watch_grants(shown.registry, lambda: of_teams)
    watch_state(shown.registry, lambda: StateSize(4096, [Cut("detail", NOW, NOW)]), shown.clock, lambda: True)
    leadership: Any = SimpleNamespace(leads=True, differs=False, lost=1, seconds_left=lambda: 12.5)
    watch_leadership(shown.registry, leadership)
    ProcessCollector(registry=shown.registry)
    happen(shown)
    shown.metrics.reload_failed(["autoscaler.yaml:1:1: it is wrong"])
    return shown


def happen(shown: Shown) -> None:
    """Run one cycle of the three autoscalers with some of every event."""
    measured = replace(cpu(), ready=1, missing=("i-2", "i-3"))
    limited = condition(ConditionType.SCALING_LIMITED, "TooManyReplicas")
    steering = ManualControls(Pause(Direction.IN, "ann", "sale", NOW, None), Override(0, 3, "ann", "sale", NOW, None))
    shown.ended(
        rescale("web", outcome=Written(5), bounds=bounds(2, 5), conditions=(limited,)),
        decision("api", error="no answer", metrics=(measured, replace(cpu(None), proposal=4)), bounds=bounds(1, 9)),
        decision("batch", bounds=bounds(0, 3), manual=steering),
        broken={"gone": KeyError("a bug")},
        removals_left=3,
        total=12,
    )
    shown.metrics.queried("default", 0.2, None)
    shown.metrics.queried("default", 1.2, QueryFailure("no answer"))
    shown.metrics.called("fleet", "observe", 0.3, ())
    shown.metrics.called("fleet", "scale", 0.3, [TargetUnavailable("down")])
