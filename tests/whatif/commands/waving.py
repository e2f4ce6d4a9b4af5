"""A state with an hour of a load in waves, and its configuration."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from typer.testing import CliRunner

from autoscaler.cli.app import app
from autoscaler.config import load
from tests.cli.scene import UNREACHABLE, Result
from tests.documents.lives import Recorded, open_state

CONFIGURATION = """
adapters:
  fleet: {type: memory, groups: {web: {}, jobs: {}}}
autoscalers:
  - name: web                       # a comment
    labels: {team: shop}
    scaleTargetRef: {adapter: fleet, name: web}
    minReplicas: 1
    maxReplicas: 20
    metrics:
      - type: Resource
        resource: {name: cpu, query: {expr: vector(0)}, target: {type: Utilization, averageUtilization: 60}}
    behavior:
      scaleDown: {stabilizationWindowSeconds: 300}
  - name: jobs
    scaleTargetRef: {adapter: fleet, name: jobs}
    maxReplicas: 10
    metrics:
      - type: External
        external:
          metric: {name: queue}
          query: {expr: vector(0)}
          target: {type: AverageValue, averageValue: 15}
"""
CYCLES = 240
"""Of 15 s."""


@dataclass(frozen=True)
class Waves:
    """The state and the configuration, for commands."""

    file: Path
    since: str
    """The time of the first cycle. The time before it would be read from Prometheus."""
    env: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str) -> Result:
        """Run a command in this process without terminal and daemon; by default since the first cycle."""
        asked = [*arguments, *(["--since", self.since] if "--since" not in arguments else [])]
        result = CliRunner().invoke(app, asked, env=self.env, prog_name="autoscaler")
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return Result(result.exit_code, result.stdout, result.stderr)

    def edited(self, before: str, after: str, name: str = "new.yaml") -> str:
        """A changed copy of the configuration."""
        text = self.file.read_text()
        assert before in text
        path = self.file.with_name(name)
        path.write_text(text.replace(before, after, 1))
        return str(path)


def slow(cycle: int) -> float:
    """Two waves an hour."""
    return 300 + 200 * math.sin(cycle * 4 * math.pi / CYCLES)


def waves(folder: Path, cycles: int = CYCLES, cpu: Callable[[int], float] = slow) -> Waves:
    """A load of cpu for `web` until some seconds ago, and nothing for `jobs`."""
    file = folder / "autoscaler.yaml"
    file.write_text(CONFIGURATION)
    web = load(file).autoscalers[0]
    with open_state(folder / "state") as state:
        life = Recorded(state.ledger("fleet"), web, size=5)
        begin = life.now = datetime.now(UTC) - (cycles + 1) * timedelta(seconds=15)
        for cycle in range(cycles):
            life.cpu(round(cpu(cycle) / life.size))
    return Waves(file, begin.isoformat(), {"STATE_DIRECTORY": str(folder / "state"), "AUTOSCALER_SERVER": UNREACHABLE})
