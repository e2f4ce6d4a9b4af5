"""A Prometheus answers badly in every way at once. Nothing is scaled in, and other autoscalers are not affected.

Each of 29 sources, a real Prometheus behind a proxy, has an autoscaler of each of three types of metric. All are at
their maximum without a window, so a size that follows from a bad answer is written at once. There is also a
neighbour on the same connection with a healthy source.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rehearse.bad_answers import ANSWERS, CONTROL, DOWN, SLOW, Proxy, running_proxy
from rehearse.hostile.measure import FORBIDDEN
from rehearse.rehearsal import Extent, Row
from tests.daemon.running import PROGRAM, RunningDaemon, autoscaler, running_daemon, write_config
from tests.servers.exporter import Exporter, running_exporter
from tests.servers.prometheus import PrometheusServer, running_prometheus, static

ROUNDS: Final = 20
TYPES: Final = ("External", "Object", "Pods")
LEAST: Final = 2
MAX_SIZE: Final = 6
NEIGHBOUR: Final = "neighbour"
_BAD_CYCLES: Final = 3
"""The number of decisions about each while answers are bad. The first may use an earlier answer."""
_PERIOD: Final = "3s"
_TIMEOUT: Final = "2s"
"""A busy machine needs time for so many queries. Only the query that is slow on purpose should reach it."""
_WITHIN_SECONDS: Final = 90.0
_INSTANCES: Final = 200
"""More instances than an autoscaler ever starts here. They are numbered consecutively."""
_POLICIES: Final = {"policies": [{"type": "Pods", "value": MAX_SIZE, "periodSeconds": 1}]}
_AT_ONCE: Final = {"scaleUp": _POLICIES, "scaleDown": {"stabilizationWindowSeconds": 0, **_POLICIES}}


def victim(case: str, kind: str) -> str:
    """Return the autoscaler of this type of metric on the source of this case."""
    return f"{list(ANSWERS).index(case):02}-{kind.lower()}"


CASE_OF: Final = {victim(case, kind): case for case in ANSWERS for kind in TYPES}


class Stage:
    """The daemon, the loads and the recent decisions."""

    def __init__(self, daemon: RunningDaemon, proxy: Proxy, exporter: Exporter, prometheus: PrometheusServer) -> None:
        self.daemon, self.proxy = daemon, proxy
        self._exporter, self._prometheus = exporter, prometheus
        self._read = 0
        self.since: dict[str, list[dict[str, Any]]] = defaultdict(list)
        """Autoscaler -> its decisions since the last `begin`; the first may be of a cycle that had already begun."""
        self._began = datetime.now(UTC)

    def begin(self) -> None:
        """Forget the decisions so far."""
        self.follow()
        self.since.clear()
        self._began = datetime.now(UTC)

    def follow(self) -> None:
        """Read the new decisions."""
        log = self.daemon.log
        for line in log[self._read :]:
            if line["event"] == "decision" and datetime.fromisoformat(line["timestamp"]) > self._began:
                self.since[line["autoscaler"]].append(line)
        self._read = len(log)

    def load(self, series: str, size: int) -> None:
        """Set loads that ask for this size, and wait until Prometheus has them."""
        for name, value in loads(series, size).items():
            self._exporter.values[name] = value
        first, value = next(iter(loads(series, size).items()))
        self._prometheus.wait_for(f"{first} == {value}")

    def missing(self, names: Sequence[str], size: int) -> Sequence[str]:
        """Wait for this size. Returns the autoscalers that do not reach it."""
        end = time.monotonic() + _WITHIN_SECONDS

        def left() -> list[str]:
            self.follow()
            return [name for name in names if not self.since[name] or self.since[name][-1]["current"] != size]

        while left() and time.monotonic() < end:
            time.sleep(0.1)
        return left()

    def until(self, true: Callable[[], bool], what: str) -> None:
        """Follow the log until the condition holds. Raises AssertionError if it does not."""

        def follow() -> bool:
            self.follow()
            return true()

        self.daemon.until(follow, what)


def loads(series: str, size: int) -> Mapping[str, float]:
    """Return series -> value that ask for this size. The values of instances are far too high or too low."""
    each = {
        f'each{{of="{series}",number="{number}"}}': 3.0 if size == MAX_SIZE else 0.1 for number in range(_INSTANCES)
    }
    return {f'load{{of="{series}"}}': float(size), **(each if series == "victims" else {})}


@dataclass(slots=True)
class Seen:
    """The results of the rounds so far."""

    rounds: int = 0
    decided: int = 0
    """Decisions under bad answers."""
    without_value: int = 0
    """Those of them without a value."""
    neighbours: int = 0
    """Decisions about the neighbour meanwhile."""
    smaller: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)


def rehearse(folder: Path, extent: Extent) -> Iterator[Row]:
    """Run rounds, in each of which every answer is bad for a while."""
    seen = Seen()
    with _stage(folder) as stage:
        for _ in range(1 if extent.short else ROUNDS):
            _round(stage, seen)
        assert stage.daemon.stop() == 0
        errors = [str(line) for line in stage.daemon.log if line["event"] in FORBIDDEN]
    runs = seen.rounds * len(CASE_OF)
    yield Row(
        runs if seen.without_value else 0,  # otherwise the answers were not bad
        "never smaller because data is missing or wrong",
        f"{len(seen.smaller)} of {seen.decided:,} decisions, {seen.without_value:,} of them without a value",
        seen.smaller,
    )
    yield Row(runs, "scaled again, in and out, when answers are right again", f"{len(seen.stuck)} were not", seen.stuck)
    yield Row(
        seen.rounds,
        "a neighbour on the same connection follows its load meanwhile",
        f"{seen.rounds - len(seen.late)} of {seen.rounds} changes followed, in {seen.neighbours} decisions",
        seen.late,
    )
    yield Row(runs, "no answer fails a cycle, or is a bug of the daemon's own", f"{len(errors)} in its log", errors)


def _round(stage: Stage, seen: Seen) -> None:
    """Scale all out, make answers bad for some cycles, then scale all in."""
    everybody = [*CASE_OF, CONTROL]
    stage.begin()
    stage.load("victims", MAX_SIZE)
    seen.stuck += [_told(seen, name, "was not scaled out") for name in stage.missing(everybody, MAX_SIZE)]
    before = dict(stage.proxy.asked)
    stage.proxy.fault()
    stage.begin()
    size = MAX_SIZE if seen.rounds % 2 else LEAST
    stage.load(NEIGHBOUR, size)
    seen.late += [_told(seen, name, f"did not come to {size}") for name in stage.missing([NEIGHBOUR], size)]
    stage.until(lambda: min(len(stage.since[name]) for name in CASE_OF) >= _BAD_CYCLES, "decisions under bad answers")
    assert not stage.missing([CONTROL], LEAST), "the answer of 0 did not scale it in, so the round proves nothing"
    unasked = [case for case in ANSWERS if case != DOWN and stage.proxy.asked[case] == before[case]]
    assert not unasked, f"these answers were never given: {unasked}"
    for name in CASE_OF:
        lines = stage.since[name]
        seen.decided += len(lines)
        seen.without_value += sum(line["metrics"][0]["value"] is None for line in lines)
        sizes = [line["written"] for line in lines if line["written"] is not None and line["written"] < MAX_SIZE]
        seen.smaller += [_told(seen, name, f"was made {size}") for size in sizes]
    seen.neighbours += len(stage.since[NEIGHBOUR])
    stage.proxy.heal()
    stage.begin()
    stage.load("victims", LEAST)
    seen.stuck += [_told(seen, name, "was not scaled in") for name in stage.missing(everybody, LEAST)]
    seen.rounds += 1


def _told(seen: Seen, name: str, what: str) -> str:
    return f"round {seen.rounds}: {CASE_OF.get(name, name)} ({name}) {what}"


@contextmanager
def _stage(folder: Path) -> Iterator[Stage]:
    values = {**loads("victims", LEAST), **loads(NEIGHBOUR, MAX_SIZE)}
    (folder / "prometheus").mkdir()
    with ExitStack() as stack:
        exporter = stack.enter_context(running_exporter(values))
        scrape = [static("loads", exporter.address)]
        prometheus = stack.enter_context(running_prometheus(folder / "prometheus", scrape, interval="500ms"))
        prometheus.wait_for(f'load{{of="{NEIGHBOUR}"}}')
        proxy = stack.enter_context(running_proxy(prometheus.url))
        daemon = stack.enter_context(running_daemon(_configured(folder, prometheus.url, proxy), program=PROGRAM))
        daemon.wait_for("decision", autoscaler=NEIGHBOUR)
        yield Stage(daemon, proxy, exporter, prometheus)


def _configured(folder: Path, good: str, proxy: Proxy) -> Path:
    cases = (*ANSWERS, CONTROL)
    sources = {
        f"source-{number}": {"url": proxy.url(case), "timeout": "500ms" if case == SLOW else _TIMEOUT}
        for number, case in enumerate(cases)
    }
    scalers = [
        autoscaler(
            victim(case, kind), "", adapter="groups", metrics=[_metric(kind, f"source-{number}", victim(case, kind))]
        )
        for number, case in enumerate(ANSWERS)
        for kind in TYPES
    ]
    control = _metric("External", f"source-{cases.index(CONTROL)}", CONTROL)
    scalers.append(autoscaler(CONTROL, "", adapter="groups", metrics=[control]))
    scalers.append(autoscaler(NEIGHBOUR, f'load{{of="{NEIGHBOUR}"}}', adapter="groups"))
    for scaler in scalers:
        scaler |= {"syncPeriod": _PERIOD, "minReplicas": LEAST, "maxReplicas": MAX_SIZE, "behavior": _AT_ONCE}
    groups = {"groups": {"type": "memory", "groups": {scaler["name"]: {} for scaler in scalers}}}
    return write_config(folder, {"default": {"url": good}, **sources}, scalers, groups)


def _metric(kind: str, source: str, target: str) -> dict[str, Any]:
    query = {"expr": 'load{of="victims"}', "prometheus": source}
    if kind == "Pods":
        expr = f'label_replace(each{{of="victims"}}, "instance_id", "{target}-$1", "number", "(.+)")'
        query |= {"expr": expr, "instanceLabel": "instance_id"}
    body = {"metric": {"name": "load"}, "query": query, "target": {"type": "AverageValue", "averageValue": 1}}
    if kind == "Object":
        body["describedObject"] = {"kind": "Queue", "name": "load", "apiVersion": "v1"}
    return {"type": kind, kind.lower(): body}
