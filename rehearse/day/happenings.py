"""The events of a day. Each lasts as long as its block."""

import random
import signal
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from rehearse.day.world import World
from rehearse.filesystems import filled
from tests.daemon.flooding import idle_connections
from tests.servers.faults import Fault

_QUERY: Final = "/api/v1/query"
_HOUR: Final = 3600.0
_MORE: Final = 10
_NAN: Final = '{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[0,"NaN"]}]}}'

Happens: TypeAlias = Callable[[World], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Happening:
    """An event, at its time."""

    at: float
    """The part of the day before it, 0 to 1."""
    happens: Happens

    @property
    def name(self) -> str:
        """Return its name in words."""
        return self.happens.__name__.replace("_", " ")


def day(short: bool) -> Sequence[Happening]:
    """Return the events of the day.

    All restarts are in the first half of the first quarter. From then on one process runs through the rest. It grows
    with the state, which is full at noon. The third quarter, with which the last is compared, has as many events.
    """
    if short:
        few: Sequence[Happens] = (a_kill, a_reload_with_more, prometheus_answers_500)
        return [Happening(at, happens) for at, happens in zip((0.1, 0.35, 0.55), few, strict=True)]
    restarts = (a_restart, a_kill) * 4
    found = [Happening((1 + number) / 64, happens) for number, happens in enumerate(restarts)]
    for quarter in range(1, 4):
        mixed = random.Random(quarter).sample(_ALL, len(_ALL))
        found += [Happening(quarter / 4 + number / (4 * len(mixed)), happens) for number, happens in enumerate(mixed)]
    return found


def _faulty(world: World, fault: Fault) -> Iterator[None]:
    world.prometheus.faults.append(fault)
    try:
        yield
    finally:
        world.prometheus.faults.remove(fault)


@contextmanager
def a_restart(world: World) -> Iterator[None]:
    """Restart the daemon as systemd does."""
    code = world.stop(signal.SIGTERM)
    assert code == 0, f"it ended with {code}"
    world.start()
    yield


@contextmanager
def a_kill(world: World) -> Iterator[None]:
    """Kill the daemon as the kernel does when memory runs out."""
    world.stop(signal.SIGKILL)
    world.start()
    yield


@contextmanager
def prometheus_answers_500(world: World) -> Iterator[None]:
    yield from _faulty(world, Fault(_QUERY))


@contextmanager
def prometheus_is_slow(world: World) -> Iterator[None]:
    """Delay its answers beyond every deadline."""
    yield from _faulty(world, Fault(_QUERY, delay_seconds=3))


@contextmanager
def prometheus_answers_nan(world: World) -> Iterator[None]:
    yield from _faulty(world, Fault(_QUERY, status=200, body=_NAN, content_type="application/json"))


@contextmanager
def a_reload_with_more(world: World) -> Iterator[None]:
    """Add autoscalers, and remove them again."""
    before = world.wanted
    world.configure(replace(before, more=_MORE))
    world.reload()
    yield
    world.configure(before)
    world.reload()


@contextmanager
def a_reload_of_a_connection(world: World) -> Iterator[None]:
    """Make its shards begin anew, in another epoch."""
    other = {"90s": "60s", "60s": "90s"}[world.wanted.startup_time]
    world.configure(replace(world.wanted, startup_time=other))
    world.reload()
    yield


@contextmanager
def a_reload_of_a_wrong_file(world: World) -> Iterator[None]:
    """Send a configuration that is refused."""
    (world.folder / "autoscaler.yaml").write_text("autoscalers: [{name: web, minReplicas: many}]\n")
    world.reload("reload_failed")
    yield
    world.configure(world.wanted)
    world.reload()


@contextmanager
def the_state_is_locked(world: World) -> Iterator[None]:
    """Leave a transaction open, as an operator with sqlite3 may."""
    with closing(sqlite3.connect(world.state / "state.db", isolation_level=None, timeout=60)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


@contextmanager
def the_disk_is_full(world: World) -> Iterator[None]:
    """Fill the state's own file system."""
    with filled(world.state):
        yield


@contextmanager
def the_clock_is_set(world: World) -> Iterator[None]:
    """Set the clock an hour forward, and back again."""
    world.clock.set(_HOUR)
    yield
    world.clock.set(0)


@contextmanager
def the_machine_holds_the_process(world: World) -> Iterator[None]:
    """Stop the process by SIGSTOP. All clocks continue."""
    world.daemon.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        world.daemon.process.send_signal(signal.SIGCONT)


@contextmanager
def targets_cannot_be_read(world: World) -> Iterator[None]:
    """Make all targets of a connection unreadable."""
    folder = world.state / "adapters" / "east"
    kept = {file: file.read_bytes() for file in folder.glob("*.json")}
    for file in kept:
        file.write_text("not a group")
    yield
    for file, content in kept.items():
        file.write_bytes(content)


@contextmanager
def clients_flood_it(world: World) -> Iterator[None]:
    """Connect clients that send nothing."""
    with idle_connections(world.daemon.url, 200):
        yield


_ALL: Final[Sequence[Happens]] = (
    prometheus_answers_500,
    prometheus_is_slow,
    prometheus_answers_nan,
    a_reload_with_more,
    a_reload_of_a_connection,
    a_reload_of_a_wrong_file,
    the_state_is_locked,
    the_disk_is_full,
    the_clock_is_set,
    the_machine_holds_the_process,
    targets_cannot_be_read,
    clients_flood_it,
)
