"""Three daemons on one PostgreSQL, what they scale, and a load that never rests.

Half of the targets compare and set: groups of a real Nomad, in jobs whose constraint no node satisfies, so that they
have a count and no allocations. The others, Auto Scaling groups of the tests' AWS, do not.
"""

import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from autoscaler.record import Archive, Retention, State
from tests.daemon.running import external
from tests.faults.hosts.audit import Audit
from tests.faults.hosts.database_proxy import running_database_proxy
from tests.faults.hosts.host import Host, wait_until
from tests.faults.hosts.recorder import Write, aws_write, nomad_write, now_micros, running_recorder
from tests.record.postgresql import Server, running_server
from tests.servers.aws import AwsServer, running_aws
from tests.servers.aws.server import REGION
from tests.servers.exporter import Exporter, running_exporter
from tests.servers.nomad import NomadServer, running_nomad, service
from tests.servers.prometheus import running_prometheus, static
from tests.servers.stepped_clock import SteppedClock

JOBS: Final = ("red", "green", "blue", "black", "white")
GROUPS: Final = ("oak", "elm", "fir", "ash")
LEAST: Final = 2
MOST: Final = 9
HOSTS: Final = 3
LEASE_SECONDS: Final = 3.0
_KEYS: Final = {"AWS_ACCESS_KEY_ID": "ours", "AWS_SECRET_ACCESS_KEY": "ours", "AWS_EC2_METADATA_DISABLED": "true"}
_BEHAVIOR: Final = {
    "scaleUp": {"stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 4, "periodSeconds": 2}]},
    "scaleDown": {"stabilizationWindowSeconds": 2, "policies": [{"type": "Pods", "value": 4, "periodSeconds": 2}]},
}
_LOAD_CHANGES_SECONDS: Final = 0.5
_CHANCE_OF_CHANGE: Final = 0.25


def targets() -> Mapping[str, str]:
    """Autoscaler's name -> its target, as `Order.target` names it."""
    return {name: f"nomad/{name}" for name in JOBS} | {name: f"aws/{name}" for name in GROUPS}


class Load:
    """Of each autoscaler; so many instances are wanted. It changes until it is ended."""

    def __init__(self, exporter: Exporter, chance: random.Random) -> None:
        self._exporter = exporter
        self._chance = chance
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._play, daemon=True)
        for name in targets():
            self._set(name, LEAST)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """It stays where it is."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def _play(self) -> None:
        while not self._ending.wait(_LOAD_CHANGES_SECONDS):
            for name in targets():
                if self._chance.random() < _CHANCE_OF_CHANGE:
                    self._set(name, self._chance.randint(LEAST, MOST))

    def _set(self, name: str, level: int) -> None:
        self._exporter.values[_series(name)] = level


@dataclass(frozen=True, slots=True)
class World:
    """One that runs."""

    folder: Path
    hosts: Sequence[Host]
    server: Server
    url: str
    audit: Audit
    nomad: NomadServer
    aws: AwsServer
    load: Load
    chance: random.Random
    lease_seconds: float
    sizes: list[tuple[str, int, int, int]]
    """Looks at the targets themselves: target, size, asked, answered."""

    def start(self) -> None:
        """All daemons at once, until they share."""
        for host in self.hosts:
            host.start()
        self.wait_until_even()

    def quiet(self) -> None:
        """The daemons end, and no write is under way any more."""
        for host in self.hosts:
            if host.process is not None:
                host.kill()
        wait_until(lambda: all(write.answered for write in self.writes()), "answers to all writes")
        self.look()

    def writes(self) -> Sequence[Write]:
        """All that were asked for, in the order in which they came."""
        found = [write for host in self.hosts for each in (host.nomad, host.aws) for write in each.writes]
        return sorted(found, key=lambda one: one.called)

    def look(self) -> None:
        """At every target, past the daemons and their proxies."""
        for name in JOBS:
            asked = now_micros()
            size = self.nomad.ask("GET", f"/v1/job/{name}")["TaskGroups"][0]["Count"]
            self.sizes.append((f"nomad/{name}", size, asked, now_micros()))
        for name in GROUPS:
            asked = now_micros()
            size = int(self.aws.groups()[name].desired_capacity or 0)
            self.sizes.append((f"aws/{name}", size, asked, now_micros()))

    def host_of(self, member: str | None) -> int | None:
        """The number of the host whose daemon the member is or was."""
        if member is None:
            return None
        pid, joined = self.audit.process(member)
        started = [
            (at, host.number) for host in self.hosts for at, known in host.daemons if known == pid and at <= joined
        ]
        return max(started)[1] if started else None

    def held(self) -> Mapping[int, frozenset[tuple[str, int]]]:
        """Host -> the slots that its daemon holds now, and its lease is not over. Hosts without any have no entry."""
        found: dict[int, set[tuple[str, int]]] = {}
        for slot, member in self.audit.holders().items():
            number = self.host_of(member)
            if number is not None:
                found.setdefault(number, set()).add(slot)
        return {number: frozenset(slots) for number, slots in found.items()}

    def is_even(self) -> bool:
        """Whether the hosts hold all slots, and their counts differ by at most one."""
        for host in self.hosts:
            assert host.running(), f"the daemon of host {host.number} ended: {host.last_words()}"
        held = self.held()
        counts = [len(held.get(host.number, ())) for host in self.hosts]
        return sum(counts) == len(targets()) and max(counts) - min(counts) <= 1

    def wait_until_even(self) -> None:
        """All hosts run, and share."""
        wait_until(self.is_even, "even shares of all hosts")

    def newest(self) -> Mapping[str, int]:
        """Autoscaler -> the `now` of its newest recorded cycle."""
        return dict(self.audit.ask("SELECT name, memory.at FROM memory JOIN autoscaler ON id = autoscaler_id"))

    def slots_of_names(self) -> Mapping[tuple[str, int], str]:
        """Slot -> the autoscaler in it: no two share one here."""
        query = "SELECT connection, slot, name FROM autoscaler"
        return {(connection, slot): name for connection, slot, name in self.audit.ask(query)}

    def archive(self) -> Archive:
        """What is recorded; the caller closes it."""
        return Archive.open_archive(self.url, self.folder / "archive")


@contextmanager
def running_world(folder: Path, seed: int, lease_seconds: float = LEASE_SECONDS) -> Iterator[World]:
    """Everything but the daemons, which it ends, too."""
    for name in ("nomad", "prometheus", "schema"):
        (folder / name).mkdir()
    chance = random.Random(seed)
    with ExitStack() as stack:
        server = stack.enter_context(running_server())
        url = f"{server.address}/postgres"
        State.open(url, folder / "schema", Retention()).close()
        audit = Audit(url)
        audit.install()
        stack.callback(audit.close)
        nomad = stack.enter_context(running_nomad(folder / "nomad"))
        nowhere = [{"LTarget": "${node.class}", "RTarget": "no-such-class", "Operand": "="}]
        for name in JOBS:
            nomad.register(service(name, count=LEAST, group={"Constraints": nowhere}))
        aws = stack.enter_context(running_aws())
        _create_groups(aws)
        exporter = stack.enter_context(running_exporter())
        load = Load(exporter, chance)
        scrape = [static("loads", exporter.address)]
        prometheus = stack.enter_context(running_prometheus(folder / "prometheus", scrape, interval="250ms"))
        prometheus.wait_for(_series(JOBS[0]))
        found = []
        for number in range(HOSTS):
            home = folder / f"host-{number}"
            (home / "state").mkdir(parents=True)
            database = stack.enter_context(running_database_proxy(server.port))
            to_nomad = stack.enter_context(running_recorder(number, nomad.url, nomad_write))
            to_aws = stack.enter_context(running_recorder(number, aws.url, aws_write))
            config = home / "autoscaler.yaml"
            own = f"postgresql://postgres@127.0.0.1:{database.way.port}/postgres"
            config.write_text(
                yaml.safe_dump(_configuration(prometheus.url, own, to_nomad.url, to_aws.url, lease_seconds))
            )
            host = Host(number, home, config, database, to_nomad, to_aws, SteppedClock(home), env=_KEYS)
            stack.callback(_end, host)
            found.append(host)
        load.start()
        stack.callback(load.end)
        yield World(folder, found, server, url, audit, nomad, aws, load, chance, lease_seconds, [])


def _end(host: Host) -> None:
    if host.process is not None:
        host.kill()


def _series(name: str) -> str:
    return f'load{{of="{name}"}}'


def _create_groups(aws: AwsServer) -> None:
    ec2 = aws.client("ec2")
    image = ec2.describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
    ec2.create_launch_template(
        LaunchTemplateName="worker", LaunchTemplateData={"ImageId": image, "InstanceType": "m5.large"}
    )
    aws.create_many(GROUPS)
    for name in GROUPS:
        aws.client("autoscaling").set_desired_capacity(AutoScalingGroupName=name, DesiredCapacity=LEAST)


def _configuration(prometheus: str, state: str, nomad: str, aws: str, lease_seconds: float) -> dict[str, Any]:
    return {
        "controller": {"syncPeriod": "1s"},
        "prometheus": {"default": {"url": prometheus}},
        "state": {"url": state},
        "ha": {
            "leaseDuration": f"{lease_seconds * 1000:.0f}ms",
            "renewDeadline": f"{lease_seconds * 700:.0f}ms",
            "retryPeriod": f"{lease_seconds * 200:.0f}ms",
        },
        "adapters": {
            "nomad": {"type": "nomad", "address": nomad},
            "aws": {"type": "aws-asg", "region": REGION, "endpointUrl": aws},
        },
        "autoscalers": [
            {
                "name": name,
                "scaleTargetRef": {"adapter": adapter, "name": target},
                "minReplicas": LEAST,
                "maxReplicas": MOST,
                "metrics": [external(_series(name))],
                "behavior": _BEHAVIOR,
            }
            for adapter, name, target in [("nomad", name, f"{name}/work") for name in JOBS]
            + [("aws", name, name) for name in GROUPS]
        ],
    }
