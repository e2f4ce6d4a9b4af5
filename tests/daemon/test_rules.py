"""A build without a rule: no other part needs it, and its memory waits for it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autoscaler.rules import RULES
from tests.daemon.running import autoscaler, end_workers, running_daemon, write_config

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


@pytest.fixture(scope="module")
def left(prometheus: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a daemon with all rules that has ended: its state, and the pool's workers."""
    folder = tmp_path_factory.mktemp("whole")
    try:
        with running_daemon(write_config(folder, prometheus, [scaler()])) as whole:
            whole.wait_for("decision", count=2, level="info")
            assert whole.stop() == 0
        yield folder
    finally:
        end_workers(folder)


def test_every_rule_is_tried() -> None:
    assert {*KEYS, "manual", "fallback"} == set(RULE_NAMES)


@pytest.mark.parametrize("name", RULE_NAMES)
def test_a_daemon_runs_without_any_one_of_its_rules(name: str, left: Path, tmp_path: Path, prometheus: str) -> None:
    """A daemon without it decides, records, shows, knows none of its keys, and keeps what the rule remembered."""
    state = shutil.copytree(left / "state", tmp_path / "state")
    config = write_config(left, prometheus, [scaler(without=name)])
    with running_daemon(config, state=state, program=("-m", "tests.rules.without", name)) as daemon:
        line = daemon.wait_for("decision", count=3, level="info")
        assert line["current"] == line["desired"] == 4  # 3 and the spare one, which a window keeps without headroom
        shown = daemon.get("/api/v1/autoscalers/web").text
        assert daemon.get("/autoscalers/web").status_code == 200
        write_config(left, prometheus, [scaler()])
        refused = daemon.post("/-/reload").text
        assert ("unknown key" in refused) is (name != "manual"), refused
        assert daemon.stop() == 0
    said = f"the state has a memory of the rule '{name}', which is not installed; it is kept and ignored"
    assert (said in shown) is (name in REMEMBERING), shown
    if name in REMEMBERING:
        with running_daemon(config, state=state) as again:
            assert again.wait_for("decision", count=2, level="info")["desired"] == 4
            assert again.stop() == 0
