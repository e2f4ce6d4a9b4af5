"""A build without a rule: no other part needs it, and its memory waits for it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from autoscaler.rules import RULES
from tests.daemon.running import autoscaler, environment, finished, running_daemon, write_config

pytestmark = pytest.mark.slow

KEYS: dict[str, dict[str, Any]] = {
    "schedules": {"schedules": [{"cron": "* * * * *", "duration": "1h", "timezone": "UTC", "minReplicas": 2}]},
    "warm_up": {"warmUp": "1s"},
    "headroom": {"headroom": {"replicas": 1}},
    "recover_size": {"recoverSize": False},
    "brakes": {"brakes": {"unfulfilled": {}, "loss": {}, "outsideChange": {}, "afterOutage": True}},
    "idle": {"idleReplicas": 0, "cooldown": "1h"},
    "drain": {"drain": {"command": ["/bin/true"]}},
}
"""The keys of an autoscaler by rule."""
RULE_NAMES = [kind.name for kind in RULES]
REMEMBERING = {"schedules", "brakes"}
"""Rules that remember something in every cycle."""


def fallback(metric: dict[str, Any]) -> dict[str, Any]:
    return {**metric, "external": {**metric["external"], "fallback": {"replicas": 2}}}


def scaler(without: str = "") -> dict[str, Any]:
    """An autoscaler with the keys of every other rule."""
    keys: dict[str, Any] = {}
    for name, own in KEYS.items():
        keys |= {} if name == without else own
    made = autoscaler("web", "vector(3)", **keys)
    return made if without == "fallback" else made | {"metrics": [fallback(each) for each in made["metrics"]]}


def asked(config: Path, name: str, *arguments: str) -> str:
    """Return what a command of the build without the rule prints."""
    words = [sys.executable, "-m", "tests.rules.without", name, *arguments, f"--config.file={config}"]
    done = finished(words, config.parent / "state")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_rule_is_tried() -> None:
    assert {*KEYS, "manual", "fallback"} == set(RULE_NAMES)


@pytest.mark.parametrize("name", RULE_NAMES)
def test_a_daemon_runs_without_any_one_of_its_rules(name: str, folder: Path, prometheus: str) -> None:
    """A daemon without it decides, records, explains and keeps what a build with it remembered."""
    with running_daemon(write_config(folder, prometheus, [scaler()])) as whole:
        whole.wait_for("decision", count=2, level="info")
        whole.stop()
    config = write_config(folder, prometheus, [scaler(without=name)])
    with running_daemon(config, program=("-m", "tests.rules.without", name)) as daemon:
        line = daemon.wait_for("decision", count=3, level="info")
        assert line["current"] == line["desired"] == 4  # 3 and the spare one, which a window keeps without headroom
        daemon.stop()
    assert "web" in asked(config, name, "get")
    assert json.loads(asked(config, name, "explain", "web", "-o", "json"))["name"] == "web"
    said = f"the state has a memory of the rule '{name}', which is not installed; it is kept and ignored"
    assert (said in asked(config, name, "describe", "web")) is (name in REMEMBERING)
    with running_daemon(write_config(folder, prometheus, [scaler()])) as again:
        assert again.wait_for("decision", count=2, level="info")["desired"] == 4


@pytest.mark.parametrize("name", sorted(KEYS))
def test_the_keys_of_a_rule_that_is_not_installed_are_unknown(name: str, folder: Path) -> None:
    config = write_config(folder, "http://localhost:1", [scaler()])
    words = [sys.executable, "-m", "tests.rules.without", name, "check", str(config)]
    done = finished(words, config.parent / "state", environment(folder))
    assert done.returncode == 1
    assert "unknown key" in done.stdout + done.stderr
