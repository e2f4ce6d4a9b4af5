"""Some daemons on one PostgreSQL, their targets, and a load that changes all the time.

Some of the targets compare and set: groups of a real Nomad, in jobs whose constraint no node satisfies, so that they
have a count and no allocations. The others, Auto Scaling groups of the tests' AWS, do not.

Stabilization windows limit one half of each kind, policies the other half. Windows and periods outlast two takeovers:
a forgotten one has an effect.
"""

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import yaml

from autoscaler.record.archive import Archive
from autoscaler.record.housekeeping import Retention
from autoscaler.record.state import State
from rehearse.hosts.audit import Audit, Lead
from rehearse.hosts.database_proxy import running_database_proxy
from rehearse.hosts.host import Host, wait_until
from rehearse.hosts.launched import WAYS
from rehearse.hosts.recorder import Write, now_micros, read_aws, read_nomad, running_recorder
from rehearse.hosts.verdict import Announced, Look, Noted
from rehearse.load import LEAST, Load, series
from tests.daemon.running import external
from tests.record.postgresql import Server, running_server
from tests.servers.exporter import running_exporter
from tests.servers.faults import running_faults
from tests.servers.nomad import NOWHERE, NomadServer, running_nomad, service
from tests.servers.prometheus import running_prometheus, static
from tests.servers.stepped_clock import SteppedClock

if TYPE_CHECKING:
    from tests.servers.aws import AwsServer

JOBS: Final = ("red", "green", "blue", "black", "white")
GROUPS: Final = ("oak", "elm", "fir", "ash")
_BY_WINDOW: Final = frozenset({"red", "green", "oak", "elm"})
"""Autoscalers that their stabilization window limits. Policies limit the others."""
_MAX_SIZE: Final = 9
_CHANCE: Final = 0.25
_CHANCE_BY_WINDOW: Final = 0.06
"""A load that changes more often never falls for long enough for a scale-in."""
HOSTS: Final = 3
SHARDS: Final = 2
"""Of each connection."""
LEASE_SECONDS: Final = 3.0
OUTLASTING: Final = 5
"""The length of windows and periods, in leases. A takeover takes at most two."""
_KEYS: Final = {"AWS_ACCESS_KEY_ID": "ours", "AWS_SECRET_ACCESS_KEY": "ours", "AWS_EC2_METADATA_DISABLED": "true"}


@dataclass(frozen=True, slots=True)
class World:
    """A running world."""

    folder: Path
    hosts: Sequence[Host]
    servers: list[Server]
    """The servers of the database, failed ones first."""
    audit: Audit
    nomad: NomadServer | None
    """None: there are no jobs."""
    aws: "AwsServer"
    jobs: Sequence[str]
    groups: Sequence[str]
    chance: random.Random
    lease_seconds: float
    looks: list[Look]
    """Direct reads of targets."""

    @property
    def server(self) -> Server:
        """The database."""
        return self.servers[-1]

    @property
    def names(self) -> Sequence[str]:
        """Of the autoscalers."""
        return (*self.jobs, *self.groups)

    def target(self, name: str) -> str:
        """Return the target of the autoscaler of this name, as `Order.target` names it."""
        return f"nomad/{name}" if name in self.jobs else f"aws/{name}"

    def start(self) -> None:
        """Start all daemons at once, and wait until one leads and the others stand by."""
        for host in self.hosts:
            host.start()
        self.wait_until_whole()

    def let_lead(self, wanted: Host) -> None:
        """Wait until this host's daemon leads and the others stand by. Daemons of the others are killed and started."""
        if self.leading() is wanted:
            return
        others = [host for host in self.hosts if host is not wanted]
        for host in others:
            if host.process is not None:
                host.kill()
        wait_until(lambda: self.leading() is wanted, f"that host {wanted.number} leads")
        for host in others:
            host.start()
        self.wait_until_whole()

    def quiet(self) -> None:
        """End the daemons, and wait until no write is under way."""
        for host in self.hosts:
            if host.process is not None:
                host.kill()
        wait_until(lambda: all(write.over for write in self.writes()), "answers to all writes")
        self.look()

    def writes(self) -> Sequence[Write]:
        """Return all requested writes, in order."""
        found = [write for host in self.hosts for each in host.recorders.values() for write in each.writes]
        return sorted(found, key=lambda one: one.called)

    def look(self) -> None:
        """Read every target directly, without daemons and proxies."""
        for name in self.jobs:
            assert self.nomad is not None
            asked = now_micros()
            size = self.nomad.ask("GET", f"/v1/job/{name}")["TaskGroups"][0]["Count"]
            self.looks.append(Look(f"nomad/{name}", size, asked, now_micros()))
        for name in self.groups:
            asked = now_micros()
            size = int(self.aws.groups()[name].desired_capacity or 0)
            self.looks.append(Look(f"aws/{name}", size, asked, now_micros()))

    def host_of(self, process: str | None) -> int | None:
        """Return the number of the host of a process that has led."""
        lead = next((each for each in self.audit.leads() if each.process == process), None)
        return None if lead is None else self._host_at(lead)

    def _host_at(self, lead: Lead) -> int | None:
        """Return the number of the host of the newest daemon with the leader's pid, because pids are reused."""
        pid = int(lead.place.rpartition(" ")[2])
        started = [
            (at, host.number) for host in self.hosts for at, known in host.daemons if known == pid and at <= lead.at
        ]
        return max(started)[1] if started else None

    def announced(self) -> Sequence[Announced]:
        """Return all announced writes."""
        hosts = {lead.process: self._host_at(lead) for lead in self.audit.leads()}
        return [
            Announced(
                one.name,
                one.target,
                one.size,
                one.start,
                one.decided,
                one.at,
                one.process,
                None if one.process is None else hosts.get(one.process),
            )
            for one in self.audit.intended()
        ]

    def noted(self, backend: str) -> Noted:
        """Return the notes about the targets of this back end."""

        def of(target: str) -> bool:
            return target.startswith(f"{backend}/")

        return Noted(
            [write for write in self.writes() if of(write.order.target)],
            [each for each in self.announced() if of(each.target)],
            self.audit.leads(),
            [look for look in self.looks if of(look.target)],
        )

    def leading(self) -> Host | None:
        """Return the host whose daemon holds the lease now; None: none does."""
        number = self.host_of(self.audit.leader())
        return None if number is None else self.hosts[number]

    def leader(self) -> Host:
        """Return the host whose daemon leads, once one does."""
        found: list[Host] = []  # as it was seen: on a busy machine it may lead no more by the next look

        def led() -> bool:
            if (host := self.leading()) is not None:
                found.append(host)
            return bool(found)

        wait_until(led, "a leader")
        return found[-1]

    def is_whole(self) -> bool:
        """Return whether all daemons have started, one leads, and the others stand by."""
        for host in self.hosts:
            assert host.running(), f"the daemon of host {host.number} ended: {host.last_words()}"
        started = all(host.ready() for host in self.hosts)
        return started and self.leading() is not None and self.audit.connected() == len(self.hosts)

    def wait_until_whole(self) -> None:
        """Wait until all daemons have started, one leads, and the others stand by."""
        wait_until(self.is_whole, "a leader, and standbys on all other hosts")

    def fail_over(self, lag_seconds: float) -> int:
        """Let the database fail, and promote a standby that lags by so many seconds. Returns when it can be used.

        It replicated by PostgreSQL's own streaming until then. In microseconds since 1970.
        """
        primary = self.server
        standby = primary.standby()
        self.servers.append(standby)
        standby.wait_for(primary)
        standby.stop_following()
        time.sleep(lag_seconds)
        primary.stop()
        standby.promote_here()
        for host in self.hosts:
            host.database.way.lead_to(standby.port)
        at = now_micros()
        primary.start()  # only for the judge: the standby lacks the notes since it lags
        self.audit.follow(_url(standby))
        primary.stop()
        return at

    def archive(self) -> Archive:
        """Return the archive of the state. The caller closes it."""
        return Archive.open_archive(_url(self.server), self.folder / "archive")


@contextmanager
def running_world(
    folder: Path,
    seed: int,
    lease_seconds: float = LEASE_SECONDS,
    jobs: Sequence[str] = JOBS,
    groups: Sequence[str] = GROUPS,
    hosts: int = HOSTS,
) -> Iterator[World]:
    """Run everything except the daemons, which it ends. Without `jobs` there is no Nomad."""
    from tests.servers.aws import running_aws  # takes seconds, which the list of rehearsals does not need

    for name in ("nomad", "prometheus", "schema"):
        (folder / name).mkdir()
    chance = random.Random(seed)
    with ExitStack() as stack:
        server = stack.enter_context(running_server())
        servers = [server]
        stack.callback(_remove, servers)
        url = _url(server)
        State.open(url, folder / "schema", Retention()).close()
        audit = Audit(url)
        audit.install()
        stack.callback(audit.close)
        nomad = None
        if jobs:
            nomad = stack.enter_context(running_nomad(folder / "nomad"))
            _register(nomad, jobs)
        aws = stack.enter_context(running_aws())
        _create(aws, groups)
        exporter = stack.enter_context(running_exporter())
        chances = {name: _CHANCE_BY_WINDOW if name in _BY_WINDOW else _CHANCE for name in (*jobs, *groups)}
        load = Load(exporter, chance, chances, _MAX_SIZE)
        scrape = [static("loads", exporter.address)]
        prometheus = stack.enter_context(running_prometheus(folder / "prometheus", scrape, interval="250ms"))
        prometheus.wait_for(series(groups[0]))
        found = []
        for number in range(hosts):
            home = folder / f"host-{number}"
            (home / "state").mkdir(parents=True)
            database = stack.enter_context(running_database_proxy(server.port))
            recorders = {"aws": stack.enter_context(running_recorder(number, aws.url, read_aws))}
            if nomad is not None:
                recorders["nomad"] = stack.enter_context(running_recorder(number, nomad.url, read_nomad))
            clock = SteppedClock(home)
            seen = stack.enter_context(running_faults(prometheus.url, clock))  # a Prometheus that goes by this clock
            own = f"postgresql://postgres@127.0.0.1:{database.way.port}/postgres"
            ways = {f"{name}.example": urlsplit(recorder.url).port for name, recorder in recorders.items()}
            urls = {name: f"http://{name}.example" for name in recorders}
            config = home / "autoscaler.yaml"
            config.write_text(yaml.safe_dump(_configuration(seen.url, own, urls, [*jobs, *groups], lease_seconds)))
            runtime = stack.enter_context(TemporaryDirectory())  # the path of `home` may be too long for a socket
            env = {**_KEYS, "RUNTIME_DIRECTORY": runtime, WAYS: json.dumps(ways)}
            host = Host(number, home, config, database, recorders, clock, env)
            host.boot(chance)
            stack.callback(_end, host)
            found.append(host)
        load.start()
        stack.callback(load.end)
        yield World(folder, found, servers, audit, nomad, aws, jobs, groups, chance, lease_seconds, [])


def _url(server: Server) -> str:
    return f"{server.address}/postgres"


def _remove(servers: Sequence[Server]) -> None:
    for promoted in servers[1:]:
        promoted.remove()


def _end(host: Host) -> None:
    if host.process is not None:
        host.kill()


def _register(nomad: NomadServer, jobs: Sequence[str]) -> None:
    for name in jobs:
        nomad.register(service(name, count=LEAST, group={"Constraints": NOWHERE}))


def _create(aws: "AwsServer", groups: Sequence[str]) -> None:
    aws.create_launch_template()
    aws.create_many(groups)
    for name in groups:
        aws.client("autoscaling").set_desired_capacity(AutoScalingGroupName=name, DesiredCapacity=LEAST)


def _configuration(
    prometheus: str, state: str, backends: Mapping[str, str], names: Sequence[str], lease_seconds: float
) -> dict[str, Any]:
    from tests.servers.aws.server import REGION  # likewise

    adapters = {
        "nomad": {"type": "nomad", "address": backends.get("nomad"), "shards": SHARDS},
        "aws": {"type": "aws-asg", "region": REGION, "endpointUrl": backends["aws"], "shards": SHARDS},
    }
    return {
        "controller": {"syncPeriod": "1s"},
        "prometheus": {"default": {"url": prometheus}},
        "state": {"url": state},
        "ha": {  # in the ratio of the defaults, 15 s, 10 s and 2 s
            "leaseDuration": f"{lease_seconds * 1000:.0f}ms",
            "renewDeadline": f"{lease_seconds * 1000 * 10 / 15:.0f}ms",
            "retryPeriod": f"{lease_seconds * 1000 * 2 / 15:.0f}ms",
        },
        "adapters": {name: section for name, section in adapters.items() if name in backends},
        "autoscalers": [
            {
                "name": name,
                "scaleTargetRef": _target(name),
                "minReplicas": LEAST,
                "maxReplicas": _MAX_SIZE,
                "metrics": [external(series(name))],
                "behavior": _behavior(name, round(OUTLASTING * lease_seconds)),
            }
            for name in names
        ],
    }


def _target(name: str) -> dict[str, str]:
    return {"adapter": "nomad", "name": f"{name}/work"} if name in JOBS else {"adapter": "aws", "name": name}


def _behavior(name: str, seconds: int) -> dict[str, Any]:
    """Return behavior in which only one of the two limits counts."""
    wide = [{"type": "Pods", "value": _MAX_SIZE, "periodSeconds": 1}]
    narrow = [{"type": "Pods", "value": 2, "periodSeconds": seconds}]
    window = seconds if name in _BY_WINDOW else 0
    policies = wide if name in _BY_WINDOW else narrow
    return {
        "scaleUp": {"stabilizationWindowSeconds": 0, "policies": policies},
        "scaleDown": {"stabilizationWindowSeconds": window, "policies": policies},
    }
