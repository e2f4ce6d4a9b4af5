"""A back end whose instances wait, and a drainer on it with short pauses."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from autoscaler.drain.drainer import Drainer
from autoscaler.errors import TargetError
from autoscaler.model import AwaitingDrain, Call, DrainReport, Observation, Observed, Rules, TargetRef, TargetState
from autoscaler.rules.drain import Drain, DrainAction, DrainMemory, DrainRule
from autoscaler.target import Adapter, NodeDrain
from autoscaler.target.contract.harness import RecordingLogger
from tests.clocks import MovedClock
from tests.decisions import decision, remembering
from tests.replaced import replace
from tests.schedule.ports import scaler
from tests.waiting import until

PAUSES: Final = dict.fromkeys(DrainAction, 0.02)
WEB: Final = TargetRef("fleet", "web")


class BackEnd(Adapter):
    """Keeps its calls. An error in `failing` is raised once; `hanging` instances hang in `release`."""

    drain_keys = frozenset({"command"})

    def __init__(self) -> None:
        self.released: list[str] = []
        self.extended: list[str] = []
        self.failing: list[TargetError] = []
        self.hanging: Collection[str] = ()
        self.goes_on = threading.Event()

    def release(self, target: TargetRef, instance: str, call: Call) -> None:
        if instance in self.hanging:
            self.goes_on.wait(60)
        if self.failing:
            raise self.failing.pop()
        self.released.append(instance)

    def extend(self, target: TargetRef, instance: str, call: Call) -> None:
        self.extended.append(instance)


class NodesBackEnd(Adapter):
    """Answers each instance with its own answers, one after another; the last one stays."""

    def __init__(self, answers: Mapping[str, Sequence[NodeDrain | TargetError]]) -> None:
        self.answers = {name: list(of) for name, of in answers.items()}
        self.asked: list[tuple[str, tuple[str, ...], timedelta]] = []

    def drain_node(self, instance: str, addresses: Collection[str], deadline: timedelta, call: Call) -> NodeDrain:
        self.asked.append((instance, tuple(addresses), deadline))
        answers = self.answers[instance]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, TargetError):
            raise answer
        return answer


class Shard:
    """Hands drains over as a shard's cycles do."""

    def __init__(self, back: BackEnd, rule: DrainRule, nodes: Adapter | None = None, **options: Any) -> None:
        self.back, self.rule, self.logger = back, rule, RecordingLogger()
        self.clock: Final = MovedClock()
        adapters = {"nomad": nodes} if nodes is not None else {}
        self.drainer = Drainer(back, adapters, self.clock, self.logger, **{"pauses": PAUSES, "local": True, **options})

    def cycle(self, *waiting: AwaitingDrain, ago: float = 0, ended: Collection[str] = (), known: bool = True) -> None:
        """A cycle in which these wait. `ago`: since when, in seconds. `ended`: those whose drain is over.

        `known`: whether the back end told that they wait.
        """
        now = self.clock.now()
        state = replace(TargetState(1, 1, ()), awaiting_drain=waiting if known else None)
        drains = tuple(
            Drain(
                each.instance,
                now - timedelta(seconds=ago),
                self.rule.action,
                ended=now if each.instance in ended else None,
            )
            for each in waiting
        )
        one = scaler("web", rules=Rules([self.rule]))
        observed = Observed({"web": Observation(state, ())})
        made = remembering(replace(decision("web"), target=WEB, now=now), rules={"drain": DrainMemory(drains)})
        self.drainer.follow({"web": one}, observed, [made])

    def report(self, instance: str) -> DrainReport:
        """What is known of the drain of an instance."""
        return next(each for each in self.drainer.reports(WEB) if each.instance == instance)

    def wait(self, wanted: Callable[[], object], what: str) -> None:
        until(wanted, what)

    def wait_for_release(self, instance: str) -> DrainReport:
        """Wait until the instance is released. Returns the report."""
        self.wait(lambda: self.report(instance).released, f"{instance} to be let go")
        return self.report(instance)

    def wait_for_detail(self, instance: str, text: str) -> None:
        self.wait(lambda: text in self.report(instance).detail, f"{text!r} to be told of {instance}")
