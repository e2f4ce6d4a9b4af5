"""`autoscaler diff`: a configuration compared with the running one, or with another file."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from autoscaler.config import load
from autoscaler.model import Failure
from tests.cli.scene import UNREACHABLE, Result, Scene
from tests.documents.lives import Recorded, open_state
from tests.web.serving import Daemon, serving

WEB = """
  - name: web
    scaleTargetRef: {adapter: fleet, name: web}
    minReplicas: 2
    maxReplicas: 10
    metrics:
      - type: Resource
        resource: {name: cpu, query: {expr: vector(0)}, target: {type: Utilization, averageUtilization: 60}}
    behavior:
      scaleDown:
        stabilizationWindowSeconds: 60
        selectPolicy: Min
        policies: [{type: Pods, value: 1, periodSeconds: 10}]
"""
QUEUE = """
  - name: {name}
    scaleTargetRef: {{adapter: fleet, name: {name}}}
    minReplicas: 0
    maxReplicas: 100
    metrics:
      - type: External
        external:
          metric: {{name: queue}}
          query: {{expr: vector(0)}}
          target: {{type: AverageValue, averageValue: 15}}
"""
HEAD = "adapters: {fleet: {type: memory, groups: {web: {}, jobs: {}, broken: {}}}}\nautoscalers:"
JOBS, BROKEN = QUEUE.format(name="jobs"), QUEUE.format(name="broken")


CONFIGURATION = HEAD + WEB + JOBS + BROKEN


@pytest.fixture(scope="module")
def online(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A daemon with CONFIGURATION that has decided about each autoscaler."""
    folder = tmp_path_factory.mktemp("online")
    scalers = load(write(folder / "autoscaler.yaml", CONFIGURATION)).autoscalers
    with open_state(folder / "state") as state:
        ledger = state.ledger("fleet")
        lives = [Recorded(ledger, scaler) for scaler in scalers]
        for life in lives:
            life.now = datetime.now(UTC) - timedelta(seconds=30)
            life.step(Failure("no answer"))
        daemon = Daemon(state, scalers)
        daemon.clock.wall = datetime.now(UTC)
        with serving(daemon) as served:
            env = {"STATE_DIRECTORY": str(folder / "state"), "AUTOSCALER_SERVER": served.server.url}
            yield Scene(folder, state, lives[0], lives[1], daemon, env)


def without_daemon(scene: Scene, *arguments: str) -> Result:
    return scene.run(*arguments, "--server", UNREACHABLE)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The running configuration as a file."""
    return write(tmp_path / "autoscaler.yaml", CONFIGURATION)


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def edited(path: Path, before: str, after: str) -> Path:
    text = path.read_text()
    assert before in text
    return write(path.with_name("new.yaml"), text.replace(before, after, 1))


def test_a_key_that_changes_is_shown_with_both_values(online: Scene, written: Path) -> None:
    """Compared with what runs: the file of the daemon may have been overwritten."""
    said = online.run("diff", str(edited(written, "averageUtilization: 60", "averageUtilization: 70")), "--no-replay")
    assert said.code == 0
    assert said.lines == [
        "web: changed",
        "  KEY                                               BEFORE   AFTER",
        "  metrics[cpu].resource.target.averageUtilization   60       70",
        "",
        "autoscalers: 1 changed, 2 as before",
    ]


def test_the_same_configuration_changes_nothing(online: Scene, written: Path) -> None:
    """The operator knows that a reload is harmless."""
    said = online.run("diff", str(written))
    assert (said.code, said.out) == (0, "autoscalers: 3 as before\n")


def test_the_exit_code_says_whether_something_changes(online: Scene, written: Path) -> None:
    """As with `git diff --exit-code`, for a pipeline that loads a file only if necessary. A failure is 2."""
    new = edited(written, "maxReplicas: 10", "maxReplicas: 12")
    for options in ((), ("-o", "json"), ("jobs",)):
        assert online.run("diff", str(written), "--exit-code", *options).code == 0
    for options in ((), ("-o", "json"), ("--against", str(written))):
        assert online.run("diff", str(new), "--no-replay", "--exit-code", *options).code == 1
    assert online.run("diff", str(new), "jobs", "--exit-code").code == 0
    section = write(written.with_name("section.yaml"), f"state: {{retention: 7d}}\n{CONFIGURATION}")
    assert online.run("diff", str(section), "--against", str(written), "--exit-code").code == 1
    assert online.run("diff", str(written.with_name("none.yaml")), "--exit-code").code == 2


def test_without_a_daemon_the_last_configuration_is_compared(online: Scene, written: Path) -> None:
    said = without_daemon(online, "diff", str(edited(written, "maxReplicas: 10", "maxReplicas: 12")))
    assert said.code == 0
    assert said.lines[2].split() == ["maxReplicas", "10", "12"]
    assert "the following is from its state" in said.err


def test_added_and_removed_autoscalers_are_listed(online: Scene, written: Path) -> None:
    said = online.run("diff", str(edited(written, "name: jobs", "name: tasks")))
    assert said.lines == ["jobs: removed", "", "tasks: added", "", "autoscalers: 1 added, 1 removed, 2 as before"]


def test_two_files_are_compared_without_a_daemon(online: Scene, written: Path) -> None:
    """Keys outside of `autoscalers` are named, too."""
    new = edited(written, "adapters:", "state: {retention: 7d}\nadapters:")
    said = without_daemon(online, "diff", str(new), "--against", str(written))
    assert (said.code, said.err) == (0, "")
    assert said.lines == ["also changed: state.retention", "autoscalers: 3 as before"]


def test_names_choose_autoscalers(online: Scene, written: Path) -> None:
    """An unknown name is an error with a suggestion."""
    new = edited(written, "averageUtilization: 60", "averageUtilization: 70")
    assert online.run("diff", str(new), "jobs").lines == ["autoscalers: 1 as before"]
    said = online.run("diff", str(new), "wob")
    assert (said.code, said.err) == (1, "there is no autoscaler 'wob'; did you mean web?\n")


def test_json_has_the_same(online: Scene, written: Path) -> None:
    new = edited(written, "averageUtilization: 60", "averageUtilization: 70")
    found = json.loads(online.run("diff", str(new), "-o", "json").out)
    assert found["sections"] is None
    assert found["unchanged"] == 2
    (web,) = found["autoscalers"]
    assert (web["name"], web["kind"], web["decidesOtherwise"]) == ("web", "changed", True)
    assert web["changes"] == [
        {"path": "metrics[cpu].resource.target.averageUtilization", "before": "60", "after": "70"}
    ]


def test_an_invalid_file_is_shown_with_all_its_errors(online: Scene, written: Path) -> None:
    said = online.run("diff", str(edited(written, "maxReplicas: 10", "maxReplicas: 1")))
    assert said.code == 1
    assert "maxReplicas: 1 is below minReplicas 2" in said.err


def test_without_a_readable_state_the_error_names_the_alternative(tmp_path: Path, written: Path, online: Scene) -> None:
    """The daemon may run as another user."""
    said = online.run("diff", str(written), STATE_DIRECTORY=str(tmp_path / "none"))
    assert said.code == 1
    assert "compare two files with --against" in said.err
