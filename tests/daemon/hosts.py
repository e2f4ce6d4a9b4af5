"""Several real daemons on one real PostgreSQL, each as if on its own host."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import create_engine, text

from adapters.memory.groups import Groups
from autoscaler.model import TargetRef, shard_of
from tests.daemon.running import (
    RunningDaemon,
    autoscaler,
    run_command,
    run_to_its_end,
    running_daemon,
    write_config,
)
from tests.waiting import until

SHARDS: Final = 3
_FIRST: Final = {shard_of(TargetRef("fleet", f"s{n}"), SHARDS): n for n in reversed(range(100))}
NAMES: Final = tuple(f"s{n}" for n in sorted(_FIRST.values()))
"""Autoscalers, each in its own shard."""
QUICK: Final = {"leaseDuration": "6s", "renewDeadline": "5s", "retryPeriod": "300ms"}
"""Times for the daemon whose lease should end. A busy machine may pause for seconds."""
SLOW: Final = {"leaseDuration": "10m", "renewDeadline": "9m", "retryPeriod": "300ms"}
"""Times with which no lease ends while a test runs."""


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

    def attempt(self, host: str, *arguments: str, **of_config: Any) -> CompletedProcess[str]:
        """Run a daemon that ends by itself, such as a single cycle, for which a busy machine has time.

        It waits for others for two of its periods longer than for a lease.
        """
        config = self.config(host, QUICK | {"retryPeriod": "2s"}, **{"syncPeriod": "30s"} | of_config)
        return run_to_its_end(config, *arguments, env=self.env, hostname=host)

    def start(
        self,
        host: str,
        ha: Mapping[str, str] = SLOW,
        *arguments: str,
        **of_config: Any,
    ) -> "Host":
        """Start a daemon and wait until it is ready. The first one leads. All have the same groups."""
        config = self.config(host, ha, **of_config)
        state = config.parent / "state"
        state.mkdir(exist_ok=True)
        groups = self.folder / "groups"
        groups.mkdir(exist_ok=True)
        if not (state / "adapters").exists():
            (state / "adapters").symlink_to(groups)
        daemon = self.stack.enter_context(
            running_daemon(config, *arguments, hostname=host, env=self.env, service_manager=True)
        )
        daemon.wait_for("ready")
        return Host(host, config, daemon)

    def size(self, name: str) -> int:
        """Return the size of a group of the connection `fleet`, whichever daemon wrote it."""
        group = Groups(self.folder / "groups" / "fleet").read(name)
        return 1 if group is None else len(group.members)

    def leader(self) -> str | None:
        """Return the host of the daemon that has the lease; None: it is free."""
        ((holder, host),) = self.rows("SELECT holder, host FROM lease")
        return None if holder is None else str(host)

    def wait(self, true: Callable[[], bool], what: str) -> None:
        until(true, what)

    def wait_until_led_by(self, host: str | None) -> None:
        until(lambda: self.leader() == host, lambda: f"{host} leads; {self.leader()} does")

    def rows(self, query: str) -> Sequence[Any]:
        """Return rows of the database."""
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

    def metrics(self) -> Mapping[str, float]:
        """Return metrics: those of one series by name, others as `name{adapter}`."""
        return {
            sample.name + (f"{{{sample.labels['adapter']}}}" if set(sample.labels) == {"adapter"} else ""): sample.value
            for family in text_string_to_metric_families(self.daemon.metrics())
            for sample in family.samples
            if set(sample.labels) <= {"adapter"}
        }

    def series(self, name: str) -> set[str]:
        """Return the autoscalers with a series of this name, or of one that begins so."""
        return set(re.findall(rf'^{name}\w*{{[^}}]*autoscaler="([^"]+)"', self.daemon.metrics(), re.MULTILINE))

    def decided(self, since: int = 0) -> set[str]:
        """Return the autoscalers with a decision, from this line of its log on."""
        return {line["autoscaler"] for line in self.daemon.log[since:] if line["event"] == "decision"}

    def wait_for_decisions(self, names: Sequence[str] | set[str]) -> None:
        """Wait until it has decided about all of these again."""
        since = len(self.daemon.log)
        self.daemon.until(lambda: self.decided(since) >= set(names), f"decisions about {sorted(names)}")

    def run(self, *words: str) -> str:
        """Run a command against this daemon, as an operator of its machine. Returns its output."""
        done = self.command(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def command(self, *words: str) -> CompletedProcess[str]:
        """Run a command against this daemon, as an operator of its machine."""
        server = f"--server=unix://{self.daemon.control_socket}"
        return run_command(*words, server, state=self.config.parent)
