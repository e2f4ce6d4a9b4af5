"""A state whose last cycles ended just now, a real HTTP server on it, and a way to run commands."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from autoscaler.cli.app import app
from autoscaler.model import Behavior, Failure, PolicyType, ScalingPolicy, ScalingRules, SelectPolicy
from autoscaler.record.state import State
from tests.decide.build import CPU_60, QUEUE_15, scaler
from tests.view.lives import Recorded, named, open_state
from tests.web.serving import Daemon, Served, serving

UNREACHABLE = "http://127.0.0.1:1"
"""An address at which nothing listens, because the port needs root."""
_SLOWLY = ScalingRules(
    timedelta(seconds=60), SelectPolicy.MIN, (ScalingPolicy(PolicyType.PODS, 1, timedelta(seconds=10)),)
)


@dataclass(frozen=True)
class Result:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@dataclass
class Scene:
    """Three autoscalers: `web` has scaled out from 3 to 6, `jobs` is at rest, the metric of `broken` fails."""

    folder: Path
    state: State
    web: Recorded
    jobs: Recorded
    daemon: Daemon
    env: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, **env: str) -> Result:
        """Run a command in this process; its output is not a terminal."""
        result = CliRunner().invoke(app, list(arguments), env=self.env | env, prog_name="autoscaler")
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return Result(result.exit_code, result.stdout, result.stderr)


@dataclass
class ServedScene(Scene):
    """The scene with a server."""

    served: Served = field(kw_only=True)


def build(folder: Path, state: State) -> Scene:
    """Return the scene; the last cycles of its autoscalers ended at most a second ago."""
    begin = datetime.now(UTC) - timedelta(seconds=61)
    web = scaler(CPU_60, minimum=2, maximum=10, behavior=Behavior(scale_down=_SLOWLY))
    jobs, broken = (named(scaler(QUEUE_15, minimum=0), name) for name in ("jobs", "broken"))
    ledger = state.ledger("fleet")
    life = Recorded(ledger, web)
    life.now = begin
    for percent in (60, 120, 60, 60):
        life.cpu(percent)
    resting, failing = Recorded(ledger, jobs), Recorded(ledger, broken)
    resting.now = failing.now = begin
    for _ in range(4):
        resting.queue(45)
        failing.step(Failure("no answer"))
    daemon = Daemon(state, [web, jobs, broken])
    daemon.clock.wall = datetime.now(UTC)
    env = {"STATE_DIRECTORY": str(folder), "AUTOSCALER_SERVER": UNREACHABLE}
    return Scene(folder, state, life, resting, daemon, env)


@contextmanager
def served_scene(folder: Path) -> Iterator[ServedScene]:
    """Yield the scene with a server, whose control socket the commands use."""
    with open_state(folder) as state:
        scene = build(folder, state)
        with serving(scene.daemon) as served:
            env = scene.env | {"AUTOSCALER_SERVER": f"unix://{served.control_socket}"}
            yield ServedScene(folder, state, scene.web, scene.jobs, scene.daemon, env, served=served)


def steering(scene: Scene, name: str = "web") -> Any:
    return scene.state.archive.steering().get(name)
