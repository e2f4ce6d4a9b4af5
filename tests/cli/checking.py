"""`check` on a file of a test."""

from pathlib import Path

from typer.testing import CliRunner

from autoscaler.cli.app import app

GOOD = """\
autoscalers:
  - name: w
    scaleTargetRef: {adapter: local, name: p}
    minReplicas: 0
    maxReplicas: 2
    metrics:
      - {type: External, external: {metric: {name: q}, query: {expr: q}, target: {type: Value, value: 1}}}
      - {type: Resource, resource: {name: cpu, query: {expr: c}, request: {query: {expr: q}},
         target: {type: Utilization, averageUtilization: 60}}}
adapters: {local: {type: process, pools: {p: {command: [sleep, "9"]}}}}
"""


def run(*arguments: str | Path) -> tuple[int, str]:
    """Return the exit code and standard output."""
    result = CliRunner().invoke(app, [*map(str, arguments)])
    return result.exit_code, result.stdout
