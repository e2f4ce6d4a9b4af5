"""`write-test`, and what it prints."""

from pathlib import Path

from autoscaler.cli import live
from autoscaler.cli.findings import Findings
from autoscaler.clock import SystemClock
from autoscaler.config.loader import load
from autoscaler.target.contract import RecordingLogger


def write_tested(config: Path) -> Findings:
    """The findings about the configuration's one autoscaler."""
    return live.examine(load(config), SystemClock(), RecordingLogger(), write_test=True)[-1]


def wrong(found: Findings) -> str:
    return "\n".join(line.text for line in found.lines if line.wrong)


def said(found: Findings) -> str:
    """The answer of the write test."""
    return next(line.text for line in found.lines if line.label == "write")
