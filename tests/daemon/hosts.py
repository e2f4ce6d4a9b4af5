"""Several real daemons on one real PostgreSQL, each as if on its own host."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import create_engine, text

from autoscaler.model import TargetRef, shard_of
from tests.daemon.running import (
    RunningDaemon,
    autoscaler,
    command,
    finished,
    running_daemon,
    write_config,
)
from tests.waiting import until

SHARDS: Final = 12
_FIRST: Final = {shard_of(TargetRef("fleet", f"s{n}"), SHARDS): n for n in reversed(range(100))}
NAMES: Final = tuple(f"s{n}" for n in sorted(_FIRST.values()))
"""Autoscalers, each in its own shard."""
QUICK: Final = {"leaseDuration": "10s", "renewDeadline": "8s", "retryPeriod": "500ms"}
"""Times for the daemon whose lease should end. A busy machine may pause for seconds."""
SLOW: Final = {"leaseDuration": "10m", "renewDeadline": "9m", "retryPeriod": "500ms"}
"""Times with which no lease ends while a test runs."""


def program(host: str) -> Sequence[str]:
    """Return the program of a daemon on a host of this name."""
    named = f"import runpy, socket; socket.gethostname = lambda: {host!r}"
    return ("-c", f"{named}; runpy.run_module('autoscaler', run_name='__main__')")


@dataclass
class Hosts:
    """Starts daemons, which end with `stack`."""

    url: str
    """`state.url`."""
    prometheus: str
    folder: Path
    stack: ExitStack
    env: Mapping[str, str] = field(default_factory=dict)

    def config(
        self,
        host: str,
        ha: Mapping[str, str],
        names: Sequence[str] = NAMES,
        *,
        adapters: Mapping[str, Any] | None = None,
        url: str | None = None,
        notify: Mapping[str, Any] | None = None,
        **of_each: Any,
    ) -> Path:
        """Write a configuration of autoscalers on the connection `fleet` into the host's own folder."""
        sections: dict[str, Any] = {} if notify is None else {"notify": dict(notify)}
        folder = self.folder / host
        folder.mkdir(exist_ok=True)
        scalers = [autoscaler(name, "vector(3)", adapter="fleet", **of_each) for name in names]
        fleet = adapters or {"fleet": {"type": "memory", "shards": SHARDS, "groups": {name: {} for name in names}}}
        return write_config(
            folder, self.prometheus, scalers, fleet, state={"url": url or self.url}, ha=dict(ha), **sections
        )

    def start(self, host: str, ha: Mapping[str, str] = SLOW, **of_config: Any) -> "Host":
        """Start a daemon and wait until it is ready."""
        config = self.config(host, ha, **of_config)
        daemon = self.stack.enter_context(
            running_daemon(config, program=program(host), env=self.env, service_manager=True)
        )
        daemon.wait_for("ready")
        return Host(host, config, daemon)

    def held(self) -> Mapping[str, int]:
        """Return host -> number of shards that it holds in the database, even if its lease is over."""
        return {host: int(shards) for host, shards in self._rows(
            "SELECT m.host, count(s.shard) FROM member m LEFT JOIN shard s ON s.holder = m.id GROUP BY m.host"
        )}  # fmt: skip

    def holders(self) -> Mapping[int, str]:
        """Return number of a shard -> the host that holds it."""
        query = "SELECT s.shard, m.host FROM member m JOIN shard s ON s.holder = m.id"
        return {int(shard): str(host) for shard, host in self._rows(query)}

    def wait(self, true: Callable[[], bool], what: str) -> None:
        until(true, lambda: f"{what}; held: {self.held()}")

    def wait_until_held(self, held: Mapping[str, int]) -> None:
        self.wait(lambda: self.held() == held, f"shards held as {held}")

    def _rows(self, query: str) -> Sequence[Any]:
        engine = create_engine(self.url.replace("postgresql:", "postgresql+psycopg:"))
        with engine.begin() as connection:
            rows = connection.execute(text(query)).all()
        engine.dispose()
        return rows


@dataclass
class Host:
    """One of the daemons."""

    name: str
    config: Path
    daemon: RunningDaemon

    @property
    def url(self) -> str:
        return self.daemon.url

    def get(self, path: str) -> Any:
        """Return the API's answer."""
        answer = self.daemon.get(f"/api/v1/{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def held_by(self) -> Mapping[str, str | None]:
        """Return autoscaler -> its daemon, according to this daemon."""
        return {each["name"]: each["heldBy"] for each in self.get("autoscalers")["autoscalers"]}

    def metrics(self) -> Mapping[str, float]:
        """Return metrics: those of one series by name, others as `name{adapter}`."""
        return {
            sample.name + (f"{{{sample.labels['adapter']}}}" if set(sample.labels) == {"adapter"} else ""): sample.value
            for family in text_string_to_metric_families(self.daemon.metrics())
            for sample in family.samples
            if set(sample.labels) <= {"adapter"}
        }

    def series(self, name: str) -> set[str]:
        """Return the autoscalers with a series of this name."""
        return set(re.findall(rf'^{name}{{[^}}]*autoscaler="([^"]+)"', self.daemon.metrics(), re.MULTILINE))

    def decided(self, since: int = 0) -> set[str]:
        """Return the autoscalers with a decision, from this line of its log on."""
        return {line["autoscaler"] for line in self.daemon.log[since:] if line["event"] == "decision"}

    def wait_for_decisions(self, names: Sequence[str] | set[str]) -> None:
        """Wait until it has decided about all of these again."""
        since = len(self.daemon.log)
        self.daemon.until(lambda: self.decided(since) >= set(names), f"decisions about {sorted(names)}")

    def run(self, *words: str) -> str:
        """Run a command against this daemon. Returns its output."""
        done = finished(
            [*command(self.config)[:1], "-m", "autoscaler", *words, "--server", self.url], self.config.parent
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr
