"""config/alerts.yaml and config/recording-rules.yaml, checked by promtool."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoscaler.rules.brakes.common import Brake
from tests.metrics.exposed import everything
from tests.servers.prometheus import programs

ROOT = Path(__file__).parent.parent.parent
CONFIG = (ROOT / "config/alerts.yaml", ROOT / "config/recording-rules.yaml")
ALERTS = tuple(Path(__file__).parent / "rules" / name for name in ("alerts.yaml", "alerts-of-days.yaml"))
RECORDINGS = Path(__file__).parent / "rules/recordings.yaml"


def rules(path: Path) -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(path.read_text())["groups"] for rule in group["rules"]]


def promtool(*words: object) -> str:
    """Return promtool's output. Fail the test when it reports an error."""
    done = subprocess.run([programs().promtool, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_prometheus_accepts_the_rules() -> None:
    promtool("check", "rules", *CONFIG)


@pytest.mark.slow
@pytest.mark.parametrize("path", [*ALERTS, RECORDINGS], ids=lambda path: path.stem)
def test_promtool_tests_of_the_rules_pass(path: Path) -> None:
    """Each alert fires when it should and not before; each recording has the right value."""
    assert "SUCCESS" in promtool("test", "rules", path)


def test_every_rule_is_tested() -> None:
    """An untested rule may fail when it is needed."""
    alerts, recordings = "".join(path.read_text() for path in ALERTS), RECORDINGS.read_text()
    untested = [rule["alert"] for rule in rules(CONFIG[0]) if f"alertname: {rule['alert']}" not in alerts]
    untested += [rule["record"] for rule in rules(CONFIG[1]) if rule["record"] not in recordings]
    assert untested == []


def test_rules_use_existing_metrics() -> None:
    """An alert on a mistyped name, in the rule and in its test, never fires."""
    series = {sample.name for metric in everything().registry.collect() for sample in metric.samples}
    asked = {name for path in CONFIG for rule in rules(path) for name in re.findall(r"\bautoscaler_\w+", rule["expr"])}
    assert "autoscaler_lease_lost_total" in asked
    assert asked - series == set()


def test_a_brake_does_not_count_as_a_hold_of_the_target() -> None:
    """A brake has its own alert and its own remedy."""
    (held,) = (rule["expr"] for rule in rules(CONFIG[0]) if rule["alert"] == "AutoscalerTargetHeld")
    (pattern,) = re.findall(r'reason!~"([^"]+)"', held)
    reasons = {"Unfulfilled", "InstancesLost", "OutsideChange", "MetricsReturned"}
    assert len(reasons) == len(Brake)
    assert reasons < set(pattern.split("|"))


def test_every_alert_has_a_summary_and_an_entry_with_its_severity_in_the_documentation() -> None:
    """An operator who is woken looks up the alert's name and finds what to do."""
    assert all(rule["annotations"]["summary"] for rule in rules(CONFIG[0]))
    alerts = [(rule["alert"], rule["labels"]["severity"]) for rule in rules(CONFIG[0])]
    assert {severity for _, severity in alerts} <= {"critical", "warning", "info"}
    assert re.findall(r"^### (\w+)\n\n\*(\w+)", (ROOT / "docs/metrics.md").read_text(), re.M) == alerts
