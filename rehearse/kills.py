"""A daemon is killed many times while its load changes, at random and at placed points of a write.

Its targets are groups of a real Nomad, whose API compares and sets, behind a proxy that places the kills, and a pool of
real processes. At the end its memory is read only from its state.
"""

import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from autoscaler.record.values import Record
from rehearse import judge
from rehearse.judge import Asked, Change
from rehearse.load import LEAST, Load, series
from rehearse.rehearsal import Extent, Row
from tests.daemon.running import (
    PROGRAM,
    RunningDaemon,
    autoscaler,
    end_workers,
    running_daemon,
    workers,
    write_config,
)
from tests.daemon.state import records
from tests.servers.exporter import running_exporter
from tests.servers.faults import Fault, Faults, running_faults
from tests.servers.nomad import NOWHERE, NomadServer, running_nomad, service
from tests.servers.prometheus import running_prometheus, static
from tests.waiting import until

LIVES: Final = 200
SHORT_LIVES: Final = 8
GROUPS: Final = ("blue", "green", "red")
POOL: Final = "pool"
MAX_SIZE: Final = 16
_CALM_CYCLES: Final = 3
"""The last life, in which each load equals its size."""
_BEHAVIOR: Final = {
    "scaleUp": {"stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 4, "periodSeconds": 6}]},
    "scaleDown": {"stabilizationWindowSeconds": 6, "policies": [{"type": "Pods", "value": 3, "periodSeconds": 6}]},
}
_SCALE: Final = r"^POST /v1/job/[^/]+/scale"
_CHANCE: Final = 0.12
"""The chance that a load changes in half a second: it mostly stays for some seconds."""
_STARTS_SECONDS: Final = 2.5
"""The duration of a start, within which a kill during a start comes."""
_LIVES_SECONDS: Final = 4.0
"""The latest random kill after the first decision."""


class Moment(StrEnum):
    """The moment of a kill."""

    START = "while it starts"
    RANDOM = "at random"
    INTENT = "after the intent's commit, before the request"
    REQUEST = "after the request, which arrives later"
    ANSWER = "before the answer"
    OUTCOME = "after the answer, while the outcome is recorded"
    RECORDED = "after the outcome was recorded"


MOMENTS: Final = (*Moment, Moment.RANDOM)
"""The moments, in turn. Of 200 kills 75 are at random, 25 of them during a start, and 25 at each placed point."""


class Lives:
    """The daemon's lives, one after another, and their observations."""

    def __init__(self, config: Path, proxy: Faults, chance: random.Random) -> None:
        self._config, self._proxy, self._chance = config, proxy, chance
        self.ended: Counter[Moment] = Counter()
        self.left_alone: list[int] = []
        """The number of running workers right after each kill."""

    def live(self, moment: Moment) -> None:
        """Run one life up to its kill. Raises AssertionError if it does not reach that moment."""
        with running_daemon(self._config, program=PROGRAM) as daemon:
            if moment is Moment.START:
                time.sleep(self._chance.uniform(0, _STARTS_SECONDS))
            elif moment in (Moment.RANDOM, Moment.RECORDED):
                self._decides(daemon)
                self._goes_on(moment, daemon)
            else:
                if self._chance.random() < 0.5:  # otherwise it may be the first cycle's write
                    self._decides(daemon)
                self._writes(moment, daemon)
            _kill(daemon)
        self.ended[moment] += 1
        self.left_alone.append(len(workers(self._config.parent)))

    def last(self) -> None:
        """Run the last life, which ends on request after a few cycles."""
        with running_daemon(self._config, program=PROGRAM) as daemon:
            for name in (*GROUPS, POOL):
                daemon.wait_for("decision", autoscaler=name, count=_CALM_CYCLES)
            assert daemon.stop() == 0

    def _decides(self, daemon: RunningDaemon) -> None:
        for name in (*GROUPS, POOL):
            daemon.wait_for("decision", autoscaler=name)

    def _goes_on(self, moment: Moment, daemon: RunningDaemon) -> None:
        """Up to the moment."""
        if moment is Moment.RANDOM:
            time.sleep(self._chance.uniform(0, _LIVES_SECONDS))
            return
        began = len(_written(daemon))
        daemon.until(lambda: len(_written(daemon)) > began, "another write")

    def _writes(self, moment: Moment, daemon: RunningDaemon) -> None:
        """Wait for the moment of its next write, at which the proxy kills it."""

        def kill() -> None:
            _kill(daemon)

        def kill_and_drop() -> None:
            _kill(daemon)
            raise ConnectionAbortedError

        faults = {
            Moment.INTENT: Fault(_SCALE, first=kill_and_drop, times=1),
            Moment.REQUEST: Fault(_SCALE, first=kill, times=1),
            Moment.ANSWER: Fault(_SCALE, then=kill, times=1),
            Moment.OUTCOME: Fault(_SCALE, last=kill, times=1),
        }
        self._proxy.faults[:] = [faults[moment]]
        until(lambda: daemon.process.poll() is not None, f"a write that is killed {moment}", every_seconds=0.02)
        self._proxy.faults.clear()


def _kill(daemon: RunningDaemon) -> None:
    """Kill the daemon, and wait until it has ended."""
    daemon.process.kill()
    daemon.process.wait()


def _written(daemon: RunningDaemon) -> list[dict[str, Any]]:
    return [line for line in daemon.events("decision") if line["written"] is not None]


@dataclass(frozen=True, slots=True)
class Scaled:
    """The whole life of one autoscaler."""

    recorded: Sequence[Record]
    asked: Sequence[Asked] | None
    """None: its back end does not show its requests."""

    @property
    def changes(self) -> Sequence[Change]:
        """Return the changes of its size."""
        return judge.changes_of(self.recorded, self.asked)

    @property
    def unrecorded(self) -> Sequence[Asked]:
        """Return the writes without an outcome in a decision."""
        ended = {record.decision.now for record in self.recorded}
        return [each for each in self.asked or () if each.at not in ended]


def rehearse(folder: Path, extent: Extent) -> Iterator[Row]:
    """Run every kill, and yield rows for its promises. The seed fixes all except the times of events."""
    chance = random.Random(20260101)
    with _world(folder, chance) as (lives, proxy, nomad, load):
        load.start()
        for number in range(SHORT_LIVES if extent.short else LIVES):
            lives.live(MOMENTS[number % len(MOMENTS)])
        load.end({POOL: len(workers(folder)), **_counts(nomad)})
        lives.last()
        scaled = [
            Scaled(records(folder, name), _asked(proxy, name) if name in GROUPS else None) for name in (*GROUPS, POOL)
        ]
    yield from _rows(lives, scaled)


def _rows(lives: Lives, scaled: Sequence[Scaled]) -> Iterator[Row]:
    kills = lives.ended.total()
    placed = kills - lives.ended[Moment.START] - lives.ended[Moment.RANDOM]
    made = sum(len(each.recorded) for each in scaled)
    broken = [text for each in scaled for text in judge.decided_otherwise(each.recorded)]
    yield Row(
        kills if made else 0,  # without a judged case, the promise was not tested
        "each decision is what `decide` gives from everything that was committed",
        f"{len(broken)} of {made:,} decisions differ",
        broken,
    )
    sent = [each.asked for each in scaled if each.asked is not None]
    broken = [text for asked in sent for text in judge.written_twice(asked)]
    yield Row(
        placed if any(sent) else 0,
        "no target is written twice for one decision",
        f"{len(broken)} of {sum(map(len, sent)):,} writes were",
        broken,
    )
    unrecorded = [write for each in scaled for write in each.unrecorded]
    arrived = sum(write.accepted for write in unrecorded)
    broken = [text for each in scaled if each.asked for text in judge.unknown_writes(each.recorded, each.asked)]
    broken += [text for each in scaled if each.asked for text in judge.unseen_sizes(each.recorded, each.changes)]
    yield Row(
        placed,
        "a write whose outcome was not recorded is settled by the next daemon",
        f"{arrived} had arrived, {len(unrecorded) - arrived} had not; {len(broken)} went unseen",
        broken,
    )
    changes = [change for each in scaled for change in each.changes]
    lower = sum(change.after < change.before for change in changes)
    broken = [text for each in scaled for text in judge.forgotten_windows(each.recorded, each.changes)]
    yield Row(
        kills,
        "no stabilization window is forgotten",
        f"{len(broken)} of {lower:,} scale-ins came early",
        broken,
    )
    broken = [text for each in scaled for text in judge.exceeded_policies(each.recorded, each.changes)]
    yield Row(
        kills if changes else 0,
        "no scaling policy is exceeded",
        f"{len(broken)} of {len(changes):,} changes went too far",
        broken,
    )
    alone = lives.left_alone
    broken = [
        f"{count} workers ran after kill {number}" for number, count in enumerate(alone) if number and count < LEAST
    ]
    yield Row(kills, "workers go on without the daemon", f"{min(alone[1:])} to {max(alone)} of them did", broken)


@contextmanager
def _world(folder: Path, chance: random.Random) -> Iterator[tuple[Lives, Faults, NomadServer, Load]]:
    """Run Nomad behind its proxy, Prometheus and its exporter, without a daemon."""
    for name in ("nomad", "prometheus"):
        (folder / name).mkdir()
    with ExitStack() as stack:
        nomad = stack.enter_context(running_nomad(folder / "nomad"))
        for name in GROUPS:
            nomad.register(service(name, count=LEAST, group={"Constraints": NOWHERE}))
        proxy = stack.enter_context(running_faults(nomad.url))
        exporter = stack.enter_context(running_exporter())
        load = Load(exporter, chance, dict.fromkeys((*GROUPS, POOL), _CHANCE), MAX_SIZE)
        scrape = [static("loads", exporter.address)]
        prometheus = stack.enter_context(running_prometheus(folder / "prometheus", scrape, interval="500ms"))
        prometheus.wait_for(series(POOL))
        scalers = [
            autoscaler(
                name,
                series(name),
                adapter="nomad" if name in GROUPS else "local",
                minReplicas=LEAST,
                maxReplicas=MAX_SIZE,
                behavior=_BEHAVIOR,
            )
            for name in (*GROUPS, POOL)
        ]
        for scaler in scalers[: len(GROUPS)]:
            scaler["scaleTargetRef"]["name"] += "/work"
        adapters = {"nomad": {"type": "nomad", "address": proxy.url}}
        stack.callback(end_workers, folder)
        yield Lives(write_config(folder, prometheus.url, scalers, adapters), proxy, chance), proxy, nomad, load


def _counts(nomad: NomadServer) -> Mapping[str, int]:
    return {name: nomad.ask("GET", f"/v1/job/{name}")["TaskGroups"][0]["Count"] for name in GROUPS}


def _asked(proxy: Faults, group: str) -> list[Asked]:
    """Return the requested counts of a group, in the order of the proxy."""
    found, size = list[Asked](), LEAST
    for write in proxy.writes:
        body = json.loads(write.body)
        if write.request.partition("?")[0].endswith(f"/v1/job/{group}/scale") and "Count" in body:
            decision = body["Meta"]["decision"]
            at = datetime.fromisoformat(decision.partition("@")[2])
            found.append(Asked(decision, at, body["Count"], write.status == 200, body["Count"] - size))
            size = body["Count"] if found[-1].accepted else size
    return found
