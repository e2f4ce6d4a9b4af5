"""A server with groups, and connections to it."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from adapters.aws_asg import AwsAsg
from autoscaler.errors import TargetError
from autoscaler.model import Call, ScaleChange, ScaleOutcome, TargetRef, TargetState
from autoscaler.moment import Moment
from autoscaler.target import AdapterMemory, ForgetfulMemory
from autoscaler.target.contract import RecordingLogger, make_context
from tests.replaced import replace
from tests.servers.aws import AwsServer, running_aws
from tests.servers.aws.server import REGION
from tests.servers.aws.world import World

KEYS = {"AWS_ACCESS_KEY_ID": "ours", "AWS_SECRET_ACCESS_KEY": "secret-of-ours"}


class Clock:
    """The test's time is the server's, which a test may set; the monotonic time is the machine's.

    Only the daemon's wall clock can be `set`.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.set = timedelta(0)

    def now(self) -> Any:
        return self._world.now + self.set

    def monotonic(self) -> float:
        return time.monotonic()

    def moment(self) -> Moment:
        return Moment(self.now(), "boot", self._world.now - datetime.fromtimestamp(0, UTC))


@dataclass
class Cloud:
    """The server, and changes by other clients."""

    server: AwsServer
    autoscaling: Any

    @property
    def world(self) -> World:
        return self.server.world

    def create(self, name: str, size: int = 1, least: int = 0, most: int = 10, **more: Any) -> None:
        """Create a group of the launch template `worker`, unless `more` sets another source."""
        if "MixedInstancesPolicy" not in more:
            more["LaunchTemplate"] = {"LaunchTemplateName": "worker"}
        self.autoscaling.create_auto_scaling_group(
            AutoScalingGroupName=name,
            MinSize=least,
            MaxSize=most,
            DesiredCapacity=size,
            **({"AvailabilityZones": [f"{REGION}a"]} | more),
        )

    def set(self, name: str, size: int) -> None:
        self.autoscaling.set_desired_capacity(AutoScalingGroupName=name, DesiredCapacity=size)

    def describe(self, name: str) -> dict[str, Any]:
        found: list[dict[str, Any]] = self.autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[name])[
            "AutoScalingGroups"
        ]
        return found[0]

    def desired(self, name: str) -> int:
        return int(self.describe(name)["DesiredCapacity"])

    def hook(self, group: str, name: str, heartbeat_seconds: int = 60, transition: str = "TERMINATING") -> None:
        self.autoscaling.put_lifecycle_hook(
            AutoScalingGroupName=group,
            LifecycleHookName=name,
            LifecycleTransition=f"autoscaling:EC2_INSTANCE_{transition}",
            HeartbeatTimeout=heartbeat_seconds,
        )

    def ids(self, name: str) -> list[str]:
        return [one["InstanceId"] for one in self.describe(name)["Instances"]]


def mixed(*overrides: dict[str, Any]) -> dict[str, Any]:
    """Return a MixedInstancesPolicy with these overrides."""
    template = {"LaunchTemplateSpecification": {"LaunchTemplateName": "worker"}, "Overrides": list(overrides)}
    return {"LaunchTemplate": template}


class LiveAdapter:
    """An adapter, with short calls for tests."""

    def __init__(
        self,
        folder: Path,
        world: World,
        memory: AdapterMemory,
        drains: Mapping[str, str | None] | None = None,
        **settings: object,
    ) -> None:
        """`drains`: group -> the hook that its drain names."""
        self.logger = RecordingLogger()
        self._clock = Clock(world)
        self.adapter = AwsAsg(
            make_context(
                AwsAsg.Settings.model_validate(settings),
                folder,
                clock=self._clock,
                logger=self.logger,
                memory=memory,
                drains={TargetRef("test", name): hook for name, hook in (drains or {}).items()},
            )
        )

    def set_clock(self, seconds: float) -> None:
        """Set the daemon's wall clock ahead of AWS's by this much."""
        self._clock.set = timedelta(seconds=seconds)

    def call(self, seconds: float = 10) -> Call:
        return Call(self._clock.now(), self._clock.monotonic() + seconds)

    def look(self, name: str, seconds: float = 10) -> TargetState | TargetError:
        target = TargetRef("test", name)
        return self.adapter.observe([target], self.call(seconds))[target]

    def state(self, name: str) -> TargetState:
        found = self.look(name)
        assert isinstance(found, TargetState), found
        return found

    def scale(
        self,
        name: str,
        seen: TargetState,
        size: int,
        *,
        seconds: float = 10,
        change: str = "",
        victims: tuple[str, ...] = (),
        is_current: Callable[[], bool] = lambda: True,
    ) -> ScaleOutcome | TargetError:
        """Return the outcome, or the error that is raised."""
        change = change or f"decision-{time.monotonic_ns()}"
        decided = ScaleChange(change, size, seen.replicas, seen.revision, "a test says so", victims)
        try:
            call = replace(self.call(seconds), is_current=is_current)
            return self.adapter.scale(TargetRef("test", name), decided, call)
        except TargetError as error:
            return error


Connect = Callable[..., LiveAdapter]


@pytest.fixture(scope="package")
def server() -> Iterator[AwsServer]:
    """A server with the launch template `worker`, shared by all tests: moto takes seconds to load EC2's images."""
    with running_aws() as running:
        running.create_launch_template()
        yield running


@pytest.fixture
def cloud(server: AwsServer) -> Cloud:
    """A region without groups."""
    server.reset()
    return Cloud(server, server.client("autoscaling"))


@pytest.fixture
def world(server: AwsServer) -> World:
    """The server's world."""
    return server.world


@pytest.fixture
def connect(tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Builds connections with these settings on one memory. The environment has only the tests' keys."""
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN", "AWS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    made: list[LiveAdapter] = []
    memory = ForgetfulMemory()

    def build(drains: Mapping[str, str | None] | None = None, **settings: object) -> LiveAdapter:
        made.append(LiveAdapter(tmp_path / "state", world, memory, drains, **{"region": REGION, **settings}))
        return made[-1]

    yield build
    for one in made:
        one.adapter.close()


@pytest.fixture
def connection(connect: Connect, cloud: Cloud) -> LiveAdapter:
    """A connection with default settings."""
    return connect(endpointUrl=cloud.server.url)
