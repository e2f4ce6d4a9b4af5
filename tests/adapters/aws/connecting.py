"""Connections to the server of the tests, with its time and short calls."""

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

from autoscaler.errors import TargetError
from autoscaler.model import Call, ScaleChange, ScaleOutcome, TargetRef, TargetState
from autoscaler.moment import Moment
from autoscaler.target import AdapterMemory
from autoscaler.target.contract import RecordingLogger, make_context
from tests.replaced import replace
from tests.servers.aws import AwsServer, running_aws
from tests.servers.aws.world import World

KEYS = {"AWS_ACCESS_KEY_ID": "ours", "AWS_SECRET_ACCESS_KEY": "secret-of-ours"}
_A = TypeVar("_A", bound=Any)


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


class Live(Generic[_A]):
    """An adapter, with short calls for tests."""

    def __init__(
        self,
        adapter: type[_A],
        folder: Path,
        world: World,
        memory: AdapterMemory,
        drains: Mapping[str, str | None] | None = None,
        **settings: object,
    ) -> None:
        """`drains`: group -> the hook that its drain names."""
        self.logger = RecordingLogger()
        self._clock = Clock(world)
        self.adapter = adapter(
            make_context(
                adapter.Settings.model_validate(settings),
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
        found: TargetState | TargetError = self.adapter.observe([target], self.call(seconds))[target]
        return found

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
            outcome: ScaleOutcome = self.adapter.scale(TargetRef("test", name), decided, call)
        except TargetError as error:
            return error
        return outcome


@pytest.fixture(scope="package")
def server() -> Iterator[AwsServer]:
    """A server with the launch template `worker`, shared by all tests: moto takes seconds to load EC2's images."""
    with running_aws() as running:
        running.create_launch_template()
        yield running


@pytest.fixture
def world(server: AwsServer) -> World:
    """The server's world."""
    return server.world


@pytest.fixture
def own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment has only the tests' keys."""
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN", "AWS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
