"""A real server on a real state with an hour of decisions; back ends and Prometheus are simulated."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bcrypt import gensalt, hashpw
from pydantic import BaseModel

from autoscaler.config.settings import AdapterSection, PrometheusSource, WebSettings
from autoscaler.decide import apply_outcome, decide
from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    Autoscaler,
    Decision,
    Direction,
    Failure,
    Hold,
    HoldReason,
    Instance,
    InstanceReading,
    ManualControls,
    MetricSpec,
    MetricTarget,
    MetricType,
    Observation,
    Observed,
    Pause,
    Phase,
    Proposed,
    Query,
    Reading,
    Sample,
    ShardName,
    TargetRef,
    TargetState,
    TargetType,
    ValueReading,
    Written,
)
from autoscaler.record.ledger import Ledger
from autoscaler.record.state import State
from tests.clocks import FakeClock
from tests.replaced import replace
from tests.steering import steer
from tests.view.lives import open_state
from tests.web.serving import Daemon, serving
from tests.whatif.pasts import CALM

EVERY = timedelta(seconds=15)
OPERATOR = "robin"
CPU = MetricSpec(
    MetricType.RESOURCE,
    "cpu",
    MetricTarget(TargetType.UTILIZATION, 60),
    Query('sum by (instance) (rate(process_cpu_seconds_total{job="shop"}[2m]))', window=timedelta(minutes=2)),
    request=1000,
)
QUEUE = MetricSpec(
    MetricType.EXTERNAL,
    "orders_waiting",
    MetricTarget(TargetType.AVERAGE_VALUE, 15_000),
    Query('sum(queue_messages_ready{queue="orders"})'),
)
Load = Callable[[float], float]
"""Minutes since the start -> the load in units: 1 keeps one instance exactly at its target."""


@dataclass
class Part:
    """One autoscaler, and its load and its faults over time."""

    scaler: Autoscaler
    load: Load
    size: int = 3
    hold: Hold = field(default_factory=Hold)
    broken: Failure | TargetUnavailable | None = None
    unready: int = 0
    """Number of unready instances. A warning of the target says why."""

    def observe(self, now: datetime, minutes: float) -> Observation:
        """The observation at this time."""
        long_ago = now - timedelta(days=1)
        instances = tuple(
            Instance(
                f"10.0.4.{20 + n}:8080",
                Phase.RUNNING,
                ready=n >= self.unready,
                ready_transition=long_ago,
                started_at=long_ago,
                detail="" if n >= self.unready else "GET /healthz: 503",
            )
            for n in range(self.size)
        )
        readings = tuple([self._reading(metric, instances, now, minutes) for metric in self.scaler.metrics])
        if isinstance(self.broken, TargetUnavailable):
            return Observation(self.broken, readings)
        warnings = (f"{self.unready} instances answer 503 to GET /healthz",) if self.unready else ()
        return Observation(TargetState(self.size, self.size, instances, hold=self.hold, warnings=warnings), readings)

    def _reading(
        self, metric: MetricSpec, instances: Sequence[Instance], now: datetime, minutes: float
    ) -> Reading | Failure:
        if isinstance(self.broken, Failure):
            return self.broken
        load = self.load(minutes)
        if metric.type is MetricType.EXTERNAL:
            return ValueReading((int(load * metric.target.value * 0.7),))
        each = int(load * metric.target.value * 10 / max(len(instances), 1))
        samples = {
            instance.name: Sample(int(each * _share(place, len(instances))), now, timedelta(minutes=2))
            for place, instance in enumerate(instances)
        }
        return InstanceReading(samples, {i.name: 1000 for i in instances})


def _share(place: int, of: int) -> float:
    """The load of one instance in units of the average: 0.8 to 1.2."""
    return 1.0 if of < 2 else 0.8 + 0.4 * place / (of - 1)


@dataclass
class World:
    """All parts. Every write succeeds at once."""

    state: State
    parts: Mapping[str, Part]
    start: datetime
    ledgers: Mapping[str, Ledger] = field(init=False)
    """By connection."""

    def __post_init__(self) -> None:
        names = sorted({scaler.target.adapter for scaler in self.scalers})
        self.ledgers = {name: self.state.ledger(name) for name in names}

    @property
    def scalers(self) -> tuple[Autoscaler, ...]:
        """The configured autoscalers."""
        return tuple([part.scaler for part in self.parts.values()])

    def live(self, until: datetime) -> None:
        """Run cycles from the start until this time."""
        now = self.start
        while now <= until:
            self.cycle(now)
            now += EVERY

    def cycle(self, now: datetime) -> None:
        """Run and record one cycle of all parts."""
        minutes = (now - self.start) / timedelta(minutes=1)
        for name, ledger in self.ledgers.items():
            scalers = {each.name: each for each in self.scalers if each.target.adapter == name}
            observed = {each: self.parts[each].observe(now, minutes) for each in scalers}
            known = ledger.recall(list(scalers.values()))
            made = [decide(scaler, observed[each], known[each], now) for each, scaler in scalers.items()]
            ledger.record(scalers, Observed(observed), list(map(self._written, made)))

    def _written(self, made: Decision) -> Decision:
        """The decision after its write; a dry run proposes it."""
        if made.change is None:
            return made
        if made.dry_run:
            return apply_outcome(made, Proposed(made.change.size))
        self.parts[made.name].size = made.change.size
        return apply_outcome(made, Written(made.change.size))


def wave(low: float, high: float, minutes: float = 40) -> Load:
    """A load that rises and falls."""
    return lambda at: low + (high - low) * (1 - math.cos(2 * math.pi * at / minutes)) / 2


def flat(load: float) -> Load:
    """A constant load."""
    return lambda at: load


def scaler(name: str, *metrics: MetricSpec, adapter: str = "fleet", maximum: int = 12, **rest: object) -> Autoscaler:
    made = Autoscaler(name, TargetRef(adapter, f"{name}-asg"), 1, maximum, metrics or (CPU,), CALM)
    return replace(made, **rest)


def shop(state: State, now: datetime, minutes: float = 60) -> World:
    """Nine autoscalers, at least one in each state that a shop of medium size sees on a bad day.

    `minutes`: how long they have decided.
    """
    rollout = HoldReason(
        "DeploymentInProgress", "deployment 4f2a of version 31 is under way; the autoscaler waits for it"
    )
    broken = Failure("query payments_open returned no sample; check that the exporter is scraped")
    gone = TargetUnavailable("nomad at http://10.0.0.5:4646 did not answer within 4s; the next cycle tries again")
    parts = [
        Part(scaler("shop-web", CPU, QUEUE), wave(2, 9)),
        Part(scaler("shop-api", maximum=20), wave(3, 7, 25)),
        Part(scaler("checkout", maximum=6), flat(8.2)),
        Part(scaler("payments", QUEUE), flat(2), broken=broken, unready=2),
        Part(scaler("search", adapter="swarm", maximum=9), flat(3)),
        Part(scaler("thumbnails", adapter="swarm", dry_run=True), flat(5.5)),
        Part(scaler("mailer", QUEUE, adapter="nomad"), flat(9), size=4, hold=Hold(rollout, rollout)),
        Part(scaler("reports", adapter="nomad"), flat(1), broken=gone),
        Part(scaler("recommendations", adapter="swarm"), flat(2.9)),
    ]
    world = World(state, {part.scaler.name: part for part in parts}, now - timedelta(minutes=minutes))
    world.live(now - timedelta(minutes=1))
    pause = Pause(Direction.IN, "dana", "sale starts at noon", now - timedelta(minutes=1), now + timedelta(hours=2))
    steer(state, "search", ManualControls(pause))
    for seconds in (45, 30, 15, 3):
        world.cycle(now - timedelta(seconds=seconds))
    return world


def crowd(state: State, now: datetime, count: int = 2000, seconds: float = 40) -> World:
    """`count` autoscalers with a decision every 15 s for `seconds`."""
    kinds = (flat(3), flat(4.4), flat(2.9), flat(14), wave(2, 9))
    parts = [Part(scaler(f"service-{n:04}", CPU, QUEUE, adapter=f"region-{n % 4}"), kinds[n % 5]) for n in range(count)]
    world = World(state, {part.scaler.name: part for part in parts}, now - timedelta(seconds=seconds))
    world.live(now)
    return world


class Running(FakeClock):
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


@dataclass
class Site:
    """A world behind a real server."""

    world: World
    url: str
    control_socket: Path


class NoSettings(BaseModel):
    """The settings of an adapter that has none."""


def daemon_of(world: World) -> Daemon:
    """A daemon whose connections answer, except Nomad."""
    source = PrometheusSource("http://10.0.0.7:9090", external_url="https://prometheus.example.org")
    adapters = {name: AdapterSection("memory", NoSettings()) for name in world.ledgers}
    daemon = Daemon(world.state, world.scalers, Running(), prometheus={"default": source}, adapters=adapters)
    daemon.health.configured(list(adapters), ["default"])
    daemon.health.queried("default", None)
    for name in adapters:
        down = [TargetUnavailable("nomad at http://10.0.0.5:4646 did not answer")] if name == "nomad" else ()
        daemon.health.called(name, 1, down)
        daemon.health.cycle_ended(ShardName(name))
    return daemon


@contextmanager
def served(
    folder: Path,
    build: Callable[[State, datetime], World],
    listen: str = "127.0.0.1:0",
    users: Mapping[str, str] | None = None,
) -> Iterator[Site]:
    """A server on a world that has just been built.

    `users`: name -> password. OPERATOR is the only operator among them.
    """
    with open_state(folder) as state:
        world, config = build(state, datetime.now(UTC)), None
        daemon = daemon_of(world)
        if users is not None:
            lines = (f"  {name}: {hashpw(word.encode(), gensalt(4)).decode()}\n" for name, word in users.items())
            config = folder / "web.yaml"
            config.write_text("basic_auth_users:\n" + "".join(lines))
            daemon.web = WebSettings(operators=(OPERATOR,))
        with serving(daemon, config, listen) as running:
            yield Site(world, running.url, running.control_socket)
