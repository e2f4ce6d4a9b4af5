"""Autoscalers to each of which something has just happened: the moments that tests/view/moments.py shows."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    Autoscaler,
    Behavior,
    Decision,
    Direction,
    Failure,
    Hold,
    HoldReason,
    Instance,
    ManualControls,
    MetricType,
    Override,
    Pause,
    Phase,
    PolicyType,
    Rules,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    TargetState,
    TargetType,
)
from autoscaler.record.state import State
from autoscaler.rules.brakes import Brakes
from autoscaler.rules.brakes.loss import LossBrake
from autoscaler.rules.headroom import Headroom
from autoscaler.rules.schedules import Schedules
from autoscaler.windows import ScheduleEntry
from tests.decide.build import CPU_60, LONG_AGO, instances, metric, samples, scaler, state, value
from tests.decide.outage import CALM, covered, with_fallback
from tests.replaced import replace
from tests.rules.idling import BUSY, QUIET, idle_scaler
from tests.steering import steer
from tests.view.lives import Recorded, named

INFLIGHT: Final = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 10_000, "inflight")


class Life(Recorded):
    """One autoscaler on a virtual clock, in a state that other autoscalers share."""

    def __init__(self, opened: State, autoscaler: Autoscaler, size: int = 1) -> None:
        super().__init__(opened.ledger("fleet"), autoscaler, size)
        self.state = opened
        self.last: Decision | None = None

    def keep(self, made: Decision) -> None:
        super().keep(made)
        self.last = made

    def inflight(self, each: float, **given: Any) -> None:
        """Run one cycle with this many requests in flight in each instance."""
        self.step(samples([round(each * 1000)] * self.size, self.now + timedelta(seconds=15)), **given)

    def control(self, pause: Pause | None = None, override: Override | None = None) -> None:
        """Set a pause or an override."""
        steer(self.state, self.autoscaler.name, ManualControls(pause, override))


def _life(opened: State, name: str, size: int, minimum: int = 1, **given: Any) -> Life:
    rules = given.pop("rules", None)
    dry_run = given.pop("dry_run", False)
    made = named(scaler(INFLIGHT, minimum=minimum, maximum=given.pop("maximum", 10), **given), name)
    return Life(opened, replace(made, dry_run=dry_run, **({} if rules is None else {"rules": Rules(rules)})), size)


def _out(opened: State, name: str) -> Life:
    life = _life(opened, name, 1)
    life.inflight(13)
    return life


def _tolerance(opened: State, name: str) -> Life:
    life = _life(opened, name, 1)
    life.inflight(11)
    return life


def _in(opened: State, name: str) -> Life:
    life = _life(opened, name, 4, behavior=CALM)
    life.inflight(10)
    life.inflight(4)
    return life


def _stabilized(opened: State, name: str) -> Life:
    life = _life(opened, name, 4)
    life.inflight(10)
    life.inflight(4)
    return life


def _policy(opened: State, name: str) -> Life:
    slowly = ScalingRules(timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, 1, timedelta(seconds=60)),))
    life = _life(opened, name, 2, behavior=Behavior(scale_up=slowly))
    life.inflight(40)
    return life


def _in_steps(opened: State, name: str) -> Life:
    slowly = ScalingRules(timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, 1, timedelta(seconds=60)),))
    life = _life(opened, name, 4, behavior=Behavior(scale_down=slowly))
    life.inflight(2)
    life.inflight(2)
    return life


def _at_maximum(opened: State, name: str) -> Life:
    life = _life(opened, name, 4, maximum=4)
    life.inflight(25)
    return life


def _at_minimum(opened: State, name: str) -> Life:
    life = _life(opened, name, 2, minimum=2, behavior=CALM)
    life.inflight(1)
    return life


def _below_minimum(opened: State, name: str) -> Life:
    life = _life(opened, name, 1, minimum=3)
    life.inflight(10)
    return life


def _paused(opened: State, name: str) -> Life:
    life = _life(opened, name, 1)
    life.inflight(10)
    life.control(Pause(Direction.BOTH, "ann", "release 4.2", life.now, life.now + timedelta(hours=2)))
    life.inflight(13)
    return life


def _paused_at_rest(opened: State, name: str) -> Life:
    life = _life(opened, name, 1)
    life.inflight(10)
    life.control(Pause(Direction.BOTH, "ann", "release 4.2", life.now, life.now + timedelta(hours=2)))
    life.inflight(10)
    return life


def _overridden(opened: State, name: str) -> Life:
    life = _life(opened, name, 2)
    life.inflight(10)
    life.control(override=Override(4, None, "ann", "sale", life.now, None))
    life.inflight(10)
    return life


def _held(opened: State, name: str) -> Life:
    life = _life(opened, name, 2)
    life.inflight(10)
    reason = HoldReason("DeploymentActive", "deployment 7f3a is under way; it ends when its tasks are healthy")
    life.inflight(20, target=replace(state(2), hold=Hold(reason, reason)))
    return life


def _braked(opened: State, name: str) -> Life:
    life = _life(opened, name, 6, behavior=CALM, rules=[Brakes(loss=LossBrake())])
    life.inflight(10)
    life.step(samples([4000] * 3, life.now), target=TargetState(6, 3, instances(3)))
    return life


def _failing_metric(opened: State, name: str) -> Life:
    life = _life(opened, name, 3)
    life.inflight(10)
    life.step(Failure("Prometheus default at http://127.0.0.1:9090 answered 503: service unavailable"))
    return life


def _failing_target(opened: State, name: str) -> Life:
    life = _life(opened, name, 3)
    life.inflight(10)
    life.inflight(10, target=TargetUnavailable("Nomad at http://127.0.0.1:4646 refused the connection"))
    return life


def _failing_write(opened: State, name: str) -> Life:
    life = _life(opened, name, 3)
    life.inflight(20, outcome=TargetUnavailable("Nomad answered 500 to POST /v1/job/web/scale: no leader"))
    return life


def _on_fallback(opened: State, name: str) -> Life:
    life = Life(opened, named(covered(with_fallback(INFLIGHT, 30, replicas=5)), name), 3)
    life.inflight(10)
    for _ in range(3):
        life.step(Failure("Prometheus default at http://127.0.0.1:9090 did not answer within 5s"))
    return life


def _scheduled(opened: State, name: str) -> Life:
    night = ScheduleEntry("night", "UTC", "0 0 * * *", timedelta(days=1), max_replicas=2)
    life = _life(opened, name, 2, rules=[Schedules((night,))])
    life.inflight(25)
    return life


def _idle(opened: State, name: str) -> Life:
    life = Life(opened, named(idle_scaler(), name), 3)
    life.step(BUSY)
    for _ in range(6):
        life.step(QUIET)
    return life


def _disabled(opened: State, name: str) -> Life:
    life = _life(opened, name, 0)
    life.step(samples([], life.now), target=state(0))
    return life


def _unready(opened: State, name: str) -> Life:
    life = Life(opened, named(scaler(CPU_60, maximum=10), name), 3)
    life.step(samples([600] * 3, life.now))
    at = life.now + timedelta(seconds=15)
    young = Instance("i-2", Phase.RUNNING, ready=False, ready_transition=at, started_at=at, detail="GET /healthz: 503")
    there = (*instances(2), young)
    life.step(samples([1_000, 1_000, 0], at), target=state(3, there))
    return life


def _unmeasured(opened: State, name: str) -> Life:
    life = _life(opened, name, 3)
    life.inflight(10)
    life.step(samples([20_000], life.now + timedelta(seconds=15)))
    return life


def _leaving(opened: State, name: str) -> Life:
    life = _life(opened, name, 3)
    life.inflight(10)
    gone = Instance("i-3", Phase.RUNNING, ready=True, ready_transition=LONG_AGO, started_at=LONG_AGO, deleting=True)
    life.step(samples([10_000] * 4, life.now + timedelta(seconds=15)), target=state(3, (*instances(3), gone)))
    return life


def _dry_run(opened: State, name: str) -> Life:
    life = _life(opened, name, 1, dry_run=True)
    life.inflight(13)
    return life


def _with_headroom(opened: State, name: str) -> Life:
    life = _life(opened, name, 3, rules=[Headroom(replicas=2)])
    life.inflight(20)
    return life


def _two_metrics(opened: State, name: str) -> Life:
    life = Life(opened, named(scaler(CPU_60, INFLIGHT, maximum=10), name), 3)
    life.step(samples([300] * 3, life.now), samples([20_000] * 3, life.now))
    return life


def _one_of_two_fails(opened: State, name: str) -> Life:
    life = Life(opened, named(scaler(CPU_60, INFLIGHT, maximum=10), name), 3)
    life.step(Failure("the answer has no sample"), samples([20_000] * 3, life.now))
    return life


def _away_from_zero(opened: State, name: str) -> Life:
    life = Life(opened, named(idle_scaler(), name), 3)
    life.step(BUSY)
    for _ in range(6):
        life.step(QUIET)
    life.step(value(45_000))
    return life


MOMENTS: Final[Mapping[str, Callable[[State, str], Life]]] = {
    "out": _out,
    "in": _in,
    "within-tolerance": _tolerance,
    "stabilized": _stabilized,
    "policy": _policy,
    "in-steps": _in_steps,
    "at-maximum": _at_maximum,
    "at-minimum": _at_minimum,
    "below-minimum": _below_minimum,
    "paused": _paused,
    "paused-at-rest": _paused_at_rest,
    "overridden": _overridden,
    "held": _held,
    "brake": _braked,
    "failing-metric": _failing_metric,
    "failing-target": _failing_target,
    "failing-write": _failing_write,
    "fallback": _on_fallback,
    "schedule": _scheduled,
    "idle": _idle,
    "away-from-zero": _away_from_zero,
    "disabled": _disabled,
    "unready": _unready,
    "unmeasured": _unmeasured,
    "leaving": _leaving,
    "dry-run": _dry_run,
    "headroom": _with_headroom,
    "two-metrics": _two_metrics,
    "one-of-two-fails": _one_of_two_fails,
}
"""Names of autoscalers, each with what has just happened to it."""
