"""The drains of one shard."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from types import MappingProxyType
from typing import Final

from autoscaler.clock import Clock
from autoscaler.drain.job import PAUSES, STEP_SECONDS, Job, Tools
from autoscaler.logger import Logger
from autoscaler.model import Autoscaler, AwaitingDrain, Decision, DrainReport, Observed, TargetRef, TargetState
from autoscaler.rules.drain import DrainAction, DrainRule, drains_of
from autoscaler.target import Adapter
from autoscaler.threads import NoThread, spawn

MAX_DRAINS: Final = 64
"""Drains of a shard at a time. Further instances wait for one to end; their timeouts count from their beginning."""
_CLOSE_SECONDS: Final = 2.0
"""How long `close` waits for drains to stop: commands have to end."""


class Drainer:
    """Used by one shard's thread; `close` by the main thread."""

    def __init__(
        self,
        adapter: Adapter,
        nodes: Mapping[str, Adapter],
        clock: Clock,
        logger: Logger,
        is_current: Callable[[], bool] = lambda: True,
        *,
        local: bool = False,
        pauses: Mapping[DrainAction, float] = MappingProxyType(PAUSES),
        most: int = MAX_DRAINS,
    ) -> None:
        """`adapter`: the shard's. `nodes`: the adapters of connections whose nodes are drained.

        `local`: the instances are processes of this machine. `pauses`: seconds from one attempt to the next.
        """
        self._clock, self._most = clock, most
        self._tools: Tools | None = None
        """None: the adapter has no instances that wait."""
        if adapter.drain_keys:
            self._tools = Tools(adapter, nodes, clock, logger, is_current, local, pauses)
        self._jobs: dict[TargetRef, Mapping[str, Job]] = {}
        """Changed by the shard's thread alone. The jobs of a target are replaced as a whole."""
        self._free = most
        """How many more drains may begin in this cycle."""
        self._closed = False
        self._keeper: Future[None] | None = None

    def reports(self, target: TargetRef) -> tuple[DrainReport, ...]:
        """Return what is known of the target's drains. Read it after the target, so that no end is overlooked."""
        return tuple([job.report for job in self._jobs.get(target, {}).values()])

    def follow(self, scalers: Mapping[str, Autoscaler], observed: Observed, recorded: Sequence[Decision]) -> None:
        """Begin, continue and stop drains as these decisions say, which are committed. `scalers`: by name."""
        self._free = self._most - sum([each.begun and not each.over.is_set() for each in self._all()])
        for made in recorded:
            if drains_of(made.remembered.rules.of) or made.target in self._jobs:
                rule = scalers[made.name].rules.find(DrainRule)
                self._follow(rule, observed.observations[made.name].target, made)

    def keep(self, targets: Collection[TargetRef]) -> None:
        """Stop the drains of all other targets."""
        self.drop(self._jobs.keys() - set(targets))

    def drop(self, targets: Collection[TargetRef]) -> None:
        """Stop the drains of these targets."""
        for target in targets:
            self._set(target, {})

    def close(self) -> None:
        """Stop all drains, and wait a moment for their threads. What is under way is left to the next shard."""
        self._closed = True
        jobs = self._all()
        for job in jobs:
            job.stop()
        until = time.monotonic() + _CLOSE_SECONDS
        for job in jobs:
            if job.begun:
                job.over.wait(max(0.0, until - time.monotonic()))

    def _follow(self, rule: DrainRule | None, state: object, made: Decision) -> None:
        under_way = {each.instance: each for each in drains_of(made.remembered.rules.of) if each.ended is None}
        jobs = {name: job for name, job in self._jobs.get(made.target, {}).items() if name in under_way}
        followed = list[Job]()
        if rule is not None and isinstance(state, TargetState) and state.awaiting_drain is not None:
            now, waiting = self._clock.monotonic(), {each.instance: each for each in state.awaiting_drain}
            for drain in sorted(under_way.values(), key=lambda each: each.began):
                one = waiting.get(drain.instance)
                if one is not None and self._tools is not None and not self._closed:
                    until = now + (rule.timeout - (made.now - drain.began)).total_seconds()
                    job = _job(self._tools, made.target, one, rule, until, jobs.get(one.instance))
                    jobs[one.instance] = job
                    followed.append(job)
        self._set(made.target, jobs)
        for job in followed:
            if not job.begun:
                self._begin(job)

    def _begin(self, job: Job) -> None:
        if self._free <= 0:
            job.wait_for_turn(f"it waits, because {self._most} drains are under way")
            self._keep_waiting()
            return
        try:
            spawn(f"drain-{job.waiting.instance}", job.run)
        except NoThread as error:
            job.wait_for_turn(f"it waits: {error}")
        else:
            job.begun = True
            self._free -= 1

    def _keep_waiting(self) -> None:
        """Send heartbeats for drains that wait for their turn, in one thread for all, until none waits."""

        def keep() -> None:
            while not self._closed and (waiting := [each for each in self._all() if not each.begun]):
                for job in waiting:
                    job.goes_on()
                time.sleep(STEP_SECONDS)

        if self._keeper is None or self._keeper.done():
            with suppress(NoThread):  # the next cycle tries again
                self._keeper = spawn("drains-waiting", keep)

    def _all(self) -> Sequence[Job]:
        # the list is a copy, because the shard's thread may change the targets meanwhile
        return [job for of_target in list(self._jobs.values()) for job in of_target.values()]

    def _set(self, target: TargetRef, jobs: Mapping[str, Job]) -> None:
        """Set the jobs of a target, and stop those that are no longer among them."""
        before = self._jobs.get(target, {})
        for name in before.keys() - jobs.keys():
            before[name].stop()
        if jobs:
            self._jobs[target] = jobs
        else:
            self._jobs.pop(target, None)


def _job(tools: Tools, target: TargetRef, one: AwaitingDrain, rule: DrainRule, until: float, known: Job | None) -> Job:
    """Return the known job with what its next attempt uses; a new one if there is none, or if it has failed."""
    if known is None or known.failed:
        return Job(tools, target, one, rule, until)
    known.follow(one, rule, until)
    return known
