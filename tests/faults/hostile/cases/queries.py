"""A slow expression of the same form as those of forty others."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tests.daemon.running import RunningDaemon, autoscaler, external, running_daemon, write_config
from tests.faults.hostile.case import Case, Day
from tests.servers.heavy import HEAVY, LIGHT, expression, groups

_PERIOD: Final = "2s"
_TIMEOUT: Final = "1s"
"""The heavy expression takes about two seconds alone."""
_TURN_SECONDS: Final = 60.0
"""Seconds until the heavy member fails or recovers."""
_CYCLES: Final = 5
"""Seconds in which the heavy member's state stays."""


def _heavy(day: Day) -> None:
    """Let it fail, recover and fail again. From the second cycle on the others have a value in every cycle."""
    folder = day.world.folder / "heavy"
    (folder / "prometheus").mkdir(parents=True)
    with groups(folder / "prometheus") as found:
        scalers = [
            autoscaler(name, "", "heavy", syncPeriod=_PERIOD, maxReplicas=50, metrics=[external(expression(name))])
            for name in (*LIGHT, HEAVY)
        ]
        source = {"default": {"url": found.prometheus.url, "timeout": _TIMEOUT}}
        targets = {"heavy": {"type": "memory", "groups": {name: {} for name in (*LIGHT, HEAVY)}}}
        config = write_config(folder, source, scalers, targets)
        with running_daemon(config) as other:
            for heavy in (True, False, True):
                found.make(heavy=heavy)
                state = "fail" if heavy else "recover"
                day.until(_is(other, heavy), _TURN_SECONDS, f"the heavy member does not {state}")
                cycles = len(_values(other)[HEAVY])
                day.until(lambda: len(_values(other)[HEAVY]) >= cycles + _CYCLES, _TURN_SECONDS, "no cycle ends")  # noqa: B023 - called at once
            values = _values(other)
    neighbours = [
        sum(values[name][cycle] is not None for name in LIGHT) for cycle in range(1, min(map(len, values.values())))
    ]
    worst = min(neighbours, default=0)
    day.expect(
        worst == len(LIGHT),
        f"{worst} of {len(LIGHT)} neighbours have their value in the worst of {len(neighbours)} cycles from the second "
        "on",
    )
    day.lasts()


def _is(daemon: RunningDaemon, heavy: bool) -> Callable[[], bool]:
    """Return whether the heavy member's newest value is missing, or present."""
    return lambda: [value is None for value in _values(daemon)[HEAVY][-1:]] == [heavy]


def _values(daemon: RunningDaemon) -> Mapping[str, Sequence[Any]]:
    """Return the values of each autoscaler's metric, cycle by cycle."""
    found: dict[str, list[Any]] = {name: [] for name in (*LIGHT, HEAVY)}
    for line in daemon.events("decision"):
        (metric,) = line["metrics"]
        found[line["autoscaler"]].append(metric["value"])
    return found


CASES: Final[Sequence[Case]] = (
    Case(
        "an expression that takes 2 s, merged with forty light ones",
        _heavy,
        note="a real Prometheus, and a daemon of its own",
    ),
)
