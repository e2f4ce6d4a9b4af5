"""Prometheus, the load, the daemon and its workers, on one machine with fast clocks."""

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from itertools import cycle
from pathlib import Path
from typing import Final

import requests

from rehearse.day.config import Wanted, write
from rehearse.day.load import Load
from rehearse.filesystems import in_memory, require_mounts
from rehearse.hostile import daemon
from rehearse.hostile.daemon import OPEN, Daemon
from rehearse.hostile.log import Stretch
from tests.daemon.running import end_workers
from tests.servers.exporter import running_exporter
from tests.servers.faults import Faults, running_faults
from tests.servers.prometheus import running_prometheus, static
from tests.servers.stepped_clock import SteppedClock

SPEED: Final = 60.0
"""How fast the daemon's clocks run."""
SPEED_SHORT: Final = 5.0
"""In the short form, which runs on busy machines: a deadline of seconds must not pass in a moment."""
_STATE_BYTES: Final = 256 * 2**20
"""The size of the state's own file system, in bytes."""
_STOPS_WITHIN_SECONDS: Final = 60.0
_PATIENCE_SECONDS: Final = 60.0
_LOOKS_SECONDS: Final = 0.3
_PAGES: Final = (
    "/",
    "/autoscalers/s001",
    "/metrics",
    "/status",
    "/api/v1/autoscalers",
    "/api/v1/autoscalers/s008/explain",
)


class World:
    """The events of the day act on it."""

    def __init__(
        self, folder: Path, prometheus: Faults, clock: SteppedClock, load: Load, wanted: Wanted, speed: float
    ) -> None:
        self.folder, self.prometheus, self.clock, self._speed = folder, prometheus, clock, speed
        self.state = folder / "state"
        self.wanted = wanted
        self.names: Sequence[str] = ()
        self.log = Stretch()
        """The log of all daemons so far."""
        self.daemon: Daemon
        self._load = load
        self._running = ExitStack()
        self._reading = threading.Event()

    def configure(self, wanted: Wanted) -> None:
        """Write this configuration, which the daemon has not loaded yet."""
        self.wanted = wanted
        on = write(self.folder, self.prometheus.url, wanted)
        self.names, self._load.on = list(on), on

    def start(self) -> None:
        """Start a daemon on the present configuration. Raises AssertionError."""
        running = daemon.running(self.folder / "autoscaler.yaml", OPEN, self.clock.env)
        self.daemon = self._running.enter_context(running)

    def stop(self, number: signal.Signals) -> int:
        """End the daemon. Returns its exit status."""
        process = self.daemon.process
        process.send_signal(number)
        code = process.wait(_STOPS_WITHIN_SECONDS)
        self.read_log()
        self._running.close()
        return code

    def read_log(self) -> Stretch:
        """Read the daemon's log since the last call."""
        new = self.daemon.new_log()
        self.log.join(new)
        return new

    def reload(self, ends: str = "reloaded") -> None:
        """Reload by SIGHUP, because HTTP clients wait by the fast clock. Returns when the log has the event `ends`.

        Raises AssertionError if it does not come.
        """
        self.read_log()
        self.daemon.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + _PATIENCE_SECONDS
        while not self.read_log().events[ends]:
            assert self.daemon.alive, f"the daemon ended: {self.log.errors}"
            assert time.monotonic() < end, f"no {ends}: {self.log.errors[-3:]}"
            time.sleep(0.1)

    def wait_until_all_go_on(self) -> float:
        """Wait until each autoscaler has a later decision without a failure. Returns the minutes of the day.

        Raises AssertionError.
        """
        since, began = self.clock.now(), time.monotonic()
        while late := self._not_decided(since):
            assert self.daemon.alive, f"the daemon ended: {self.log.errors}"
            waited = time.monotonic() - began
            assert waited < _PATIENCE_SECONDS, f"{len(late)} did not recover, among them {'; '.join(late[:3])}"
            time.sleep(0.2)
        return (time.monotonic() - began) * self._speed / 60

    def _not_decided(self, since: float) -> Sequence[str]:
        try:
            found = self.daemon.ask("/api/v1/autoscalers").json()["data"]["autoscalers"]
        except (requests.RequestException, ValueError, KeyError) as error:
            return [f"no list: {error}"]
        decided = {
            each["name"]: each
            for each in found
            if each["lastDecision"] is not None and datetime.fromisoformat(each["lastDecision"]).timestamp() > since
            if each["state"] != "failing"
        }
        told = {each["name"]: f"{each['name']}: {each['reason']}: {each['message']}" for each in found}
        return [told.get(name, name) for name in self.names if name not in decided]

    @contextmanager
    def read_by_people(self) -> Iterator[None]:
        """Read one page after another as long as the block lasts."""

        def read() -> None:
            for page in cycle(_PAGES):
                if self._reading.wait(_LOOKS_SECONDS):
                    return
                with suppress(requests.RequestException):  # the daemon restarts
                    self.daemon.ask(page, timeout=5)

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._reading.set()
            thread.join()

    def end(self) -> None:
        """Stop everything that was started, workers included."""
        self._running.close()
        end_workers(self.folder)


@contextmanager
def world(folder: Path, autoscalers: int, speed: float) -> Iterator[World]:
    """Run a world whose daemon has decided about each autoscaler once."""
    require_mounts()
    (folder / "prometheus").mkdir()
    clock = SteppedClock(folder, speed)
    with ExitStack() as stack:
        exporter = stack.enter_context(running_exporter())
        scraped = static("services", exporter.address)
        server = stack.enter_context(running_prometheus(folder / "prometheus", [scraped], interval="500ms"))
        proxy = stack.enter_context(running_faults(server.url, clock))
        stack.enter_context(in_memory(folder / "state", _STATE_BYTES))
        load = Load(exporter, clock, folder / "state")
        found = World(folder, proxy, clock, load, Wanted(autoscalers), speed)
        stack.callback(found.end)
        found.configure(found.wanted)
        load.start()
        stack.callback(load.stop)
        server.wait_for("load")
        found.start()
        found.wait_until_all_go_on()
        stack.enter_context(found.read_by_people())
        yield found
