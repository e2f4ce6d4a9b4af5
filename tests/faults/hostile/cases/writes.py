"""Many writes, an exit during reloads, workers that stop slowly."""

import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Final
from urllib.parse import urlsplit

from tests.daemon.running import autoscaler, finished, running_daemon, write_config
from tests.faults.hostile.case import Case, Day
from tests.faults.hostile.config import CROWD

_EXIT_SECONDS: Final = 20.0
"""Within this time SIGTERM ends a daemon whose cycles end in time."""
_GIVEN_UP_SECONDS: Final = 90.0
_RISES: Final = 10
"""The number of cycles. Each has time for a third of the writes."""
_DRAIN: Final = 12
"""The number of workers before the load falls."""
_SETTLED: Final = 10
"""The number of workers for the constant load."""


def _mass_change(day: Day) -> None:
    """Raise the load of all in every cycle, so that the first ones in the file always have a write."""
    for size in range(3, 3 + _RISES):
        day.world.good.values["crowd_load"] = size
        time.sleep(day.world.period_seconds)
    written = {name: len(day.world.crowd.sizes(name, day.meter.began)) for name in CROWD}
    starved = [name for name, writes in written.items() if not writes]
    day.expect(not starved, f"never written while the load rose for {_RISES} cycles: {', '.join(starved)}")
    day.lasts()


def _constant_load(day: Day) -> None:
    """Change the load once. The pool is written once, however slowly its workers stop."""
    day.world.good.values["drain_load"] = _DRAIN

    def size() -> int:
        return int(_summary(day, "drain")["current"] or 0)

    day.until(lambda: size() == _DRAIN, 30, f"the pool does not reach {_DRAIN} workers")
    time.sleep(2 * day.world.period_seconds)
    day.world.good.values["drain_load"] = _SETTLED
    seen = [_DRAIN]
    end = time.monotonic() + 16
    while time.monotonic() < end:
        if (now := size()) != seen[-1]:
            seen.append(now)
        time.sleep(day.world.period_seconds / 4)
    day.expect(seen == [_DRAIN, _SETTLED], f"at a constant load the size went {', '.join(map(str, seen))}")
    day.lasts()


def _summary(day: Day, name: str) -> dict[str, Any]:
    found: dict[str, Any] = day.world.daemon.ask(f"/api/v1/autoscalers/{name}").json()["data"]["summary"]
    return found


def _exit(day: Day) -> None:
    """Send SIGTERM during reloads by signal, followed at once by reloads over HTTP."""
    folder = day.world.folder / "exit"
    folder.mkdir(exist_ok=True)
    config = write_config(folder, day.world.good.url, [autoscaler("web", "bad_load")])
    with running_daemon(config) as other, ExitStack() as clients:
        at = urlsplit(other.url)
        other.wait_for("ready")
        other.send(signal.SIGSTOP)  # so that all signals come at once
        for _ in range(4):
            other.send(signal.SIGHUP)
            client = clients.enter_context(socket.create_connection((at.hostname, at.port or 0)))
            client.sendall(b"POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        other.send(signal.SIGTERM)
        began = time.monotonic()
        other.send(signal.SIGCONT)
        while other.process.poll() is None and time.monotonic() < began + _GIVEN_UP_SECONDS:
            time.sleep(0.1)
        seconds = time.monotonic() - began
    day.expect(seconds <= _EXIT_SECONDS, f"SIGTERM behind reloads took {seconds:.0f} s")
    day.lasts()


def _few_ports(day: Day) -> None:
    """Use a pool that can never have as many workers as the autoscaler asks for."""
    said = _check(day, "ports", {"command": ["sleep", "60"], "ports": "20000-20004"})
    day.expect("port" in said and "ok," not in said, "check does not find that 5 ports are too few for 10 replicas")
    day.lasts()


def _no_such_command(day: Day) -> None:
    said = _check(day, "command", {"command": ["/no/such/program"]}, "--live")
    day.expect("/no/such/program" in said, "check --live does not find that a worker's command cannot be started")
    day.lasts()


def _check(day: Day, name: str, pool: dict[str, Any], *options: str) -> str:
    folder = day.world.folder / f"check-{name}"
    folder.mkdir(exist_ok=True)
    scaler = autoscaler("web", "bad_load", "pools", maxReplicas=10)
    adapters = {"pools": {"type": "process", "pools": {"web": pool}}}
    config = write_config(folder, day.world.good.url, [scaler], adapters)
    return finished([sys.executable, "-m", "autoscaler", "check", *options, str(config)], folder).stdout


CASES: Final[Sequence[Case]] = (
    Case("the load of 12 slow targets rises all the while", _mass_change, short=True),
    Case("workers stop slowly at a constant load", _constant_load),
    Case("SIGTERM behind reloads", _exit, note="a daemon of its own ends"),
    Case("too few ports for maxReplicas", _few_ports, note="check runs beside the daemon"),
    Case("a worker's command that does not exist", _no_such_command, note="check runs beside the daemon"),
)
