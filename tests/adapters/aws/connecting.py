"""Connections to the server of the tests, with its time and short calls."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar
from unittest.mock import patch

import pytest
from botocore.client import ClientCreator

from adapters.aws.api import AwsApi
from autoscaler.model import Call
from autoscaler.moment import Moment
from autoscaler.target import AdapterMemory, ForgetfulMemory
from autoscaler.target.contract import RecordingLogger, make_context
from tests.adapters.live import Live, LiveHarness
from tests.servers.aws import AwsServer, running_aws
from tests.servers.aws.server import REGION
from tests.servers.aws.world import World

KEYS = {"AWS_ACCESS_KEY_ID": "ours", "AWS_SECRET_ACCESS_KEY": "secret-of-ours"}
_A = TypeVar("_A", bound=Any)
Change: TypeAlias = Callable[[Any], Any]
ChangeAnswer: TypeAlias = Callable[[str, Change], None]
_DOCS = Path(__file__).parents[3] / "docs"


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


class AwsLive(Live[_A]):
    """A connection whose time is the server's."""

    clock: Clock

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
        clock, logger = Clock(world), RecordingLogger()
        context = make_context(
            adapter.Settings.model_validate(settings),
            folder,
            clock=clock,
            logger=logger,
            memory=memory,
            drains={self.ref(name): hook for name, hook in (drains or {}).items()},
        )
        super().__init__(adapter(context), logger, clock)

    def set_clock(self, seconds: float) -> None:
        """Set the daemon's wall clock ahead of AWS's by this much."""
        self.clock.set = timedelta(seconds=seconds)


class AwsHarness(LiveHarness):
    """A target of the server, whose instances take time to start and to end."""

    def settings(self, url: str) -> dict[str, Any]:
        return {"region": REGION, "endpointUrl": url}


def connections(adapter: type[_A], folder: Path, world: World) -> Iterator[Callable[..., AwsLive[_A]]]:
    """Yield a function that builds connections with these settings on one memory. They are closed at the end."""
    made: list[AwsLive[_A]] = []
    memory = ForgetfulMemory()

    def build(drains: Mapping[str, str | None] | None = None, **settings: object) -> AwsLive[_A]:
        made.append(AwsLive(adapter, folder, world, memory, drains, **{"region": REGION, **settings}))
        return made[-1]

    yield build
    for one in made:
        one.adapter.close()


def least_policy(document: str) -> set[str]:
    """Return the actions of the policy in a document."""
    (policy,) = re.findall(r"```json\n(\{.*?\n\})\n```", (_DOCS / document).read_text(), re.DOTALL)
    allowed: set[str] = set()
    for statement in json.loads(policy)["Statement"]:
        assert statement["Effect"] == "Allow"
        allowed |= set(statement["Action"])
    return allowed


_Creator: Any = ClientCreator  # its stubs leave out what is replaced here
_make_class: Final = _Creator._create_client_class
_classes: Final = dict[str, type]()


def _class_of(creator: Any, service: str, model: Any) -> type:
    """Return the class of a service's clients. For each of EC2, botocore makes 600 methods, in a tenth of a second."""
    if service not in _classes:
        _classes[service] = _make_class(creator, service, model)
    return _classes[service]


@pytest.fixture(scope="package")
def server() -> Iterator[AwsServer]:
    """A server with the launch template `worker`, shared by all tests."""
    with patch.object(ClientCreator, "_create_client_class", _class_of), running_aws() as running:
        running.create_launch_template()
        yield running


@pytest.fixture
def world(server: AwsServer) -> World:
    """The server's world."""
    return server.world


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> ChangeAnswer:
    """Return a function that lets a test change each answer to an operation, as botocore has parsed it."""
    genuine, changes = AwsApi.ask, dict[str, Change]()

    def ask(api: AwsApi, service: str, operation: str, call: Call, parameters: Mapping[str, Any], **more: Any) -> Any:
        answer = genuine(api, service, operation, call, parameters, **more)
        if operation in changes:
            changes[operation](answer)
        return answer

    monkeypatch.setattr(AwsApi, "ask", ask)
    return changes.__setitem__


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
