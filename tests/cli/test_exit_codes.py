"""The exit codes of every command: 0 done, 1 failed with the reason on stderr, 2 wrong arguments.

docs/cli.md has the table.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from autoscaler.cli.app import COMMANDS, HIDDEN
from tests.cli.scene import UNREACHABLE, Result, Scene, ServedScene, build, served_scene
from tests.notify.receiver import receiving
from tests.view.lives import open_state

CONFIG: Final = """\
adapters: {fleet: {type: memory, groups: {web: {}}}}
prometheus: {default: {url: "http://127.0.0.1:1"}}
autoscalers:
  - name: web
    scaleTargetRef: {adapter: fleet, name: web}
    maxReplicas: 3
    metrics: [{type: External, external: {metric: {name: q}, query: {expr: q}, target: {type: Value, value: 1}}}]
"""
TESTS: Final = """\
config: autoscaler.yaml
tests:
  - name: a short queue
    start: 2026-11-23T08:00:00Z
    autoscalers: {web: {values: {q: "1"}, expect: [{at: 1m, size: 1}]}}
"""
HPA: Final = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {kind: Deployment, name: web}
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]
"""
ONLINE: Final[dict[str, tuple[str, str, str]]] = {
    "get": ("-o xml", "nosuch", "web"),
    "describe": ("", "nosuch", "web"),
    "explain": ("web --at soon", "nosuch", "web"),
    "history": ("web --since soon", "nosuch", "web"),
    "events": ("--since soon", "nosuch", "web"),
    "status": ("web", f"--server {UNREACHABLE}", ""),
    "pause": ("", "nosuch", "web"),
    "override": ("web", "nosuch --min 2", "web --min 2"),
    "resume": ("", "nosuch", "web"),
    "resign": ("now", f"--server {UNREACHABLE}", ""),
    "reload": ("now", f"--server {UNREACHABLE}", ""),
}
"""Command that asks the daemon -> wrong arguments, what it is asked in vain, and what it does."""
OFFLINE: Final[dict[str, tuple[str, str, str]]] = {
    "check": ("--nosuch", "nosuch.yaml", "autoscaler.yaml"),
    "diff": ("", "nosuch.yaml --against autoscaler.yaml", "autoscaler.yaml --against autoscaler.yaml"),
    "test": ("", "nosuch.yaml", "tests.yaml"),
    "replay": ("--since soon", "nosuch --candidate autoscaler.yaml", "web --candidate autoscaler.yaml --since 1h"),
    "schedule": ("--since soon", "nosuch --config.file autoscaler.yaml", "--config.file autoscaler.yaml"),
    "create": (
        "",
        "--target nosuch/web --max 2 --cpu 60% --config.file autoscaler.yaml",
        "--target fleet/api --max 2 --cpu 60% --config.file autoscaler.yaml",
    ),
    "import": ("", "nosuch.yaml", "hpa.yaml"),
    "notify": ("nosuch", "test --config.file autoscaler.yaml", "test --config.file notified.yaml"),
    "adapter": (
        "test",
        "test nosuch web --config.file autoscaler.yaml",
        "test fleet web --config.file autoscaler.yaml",
    ),
    "backup": ("", "hpa.yaml", "new.db"),
    "restore": ("a.db b.db", "nosuch.db", "new.db --replace"),
    "forget": ("", "nosuch", "web"),
}
"""The same of commands that ask no daemon, in the order in which they are run."""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A state without a daemon, and a folder of files beside it."""
    folder = tmp_path_factory.mktemp("alone")
    with open_state(folder) as state, receiving() as receiver:
        scene = build(folder, state)
        webhook = receiver.webhook(folder)
        notified = f'notify: {{webhook: {{url: "{webhook.url}", secretFile: "{webhook.secret_file}"}}}}\n'
        for name, text in (
            ("autoscaler.yaml", CONFIG),
            ("notified.yaml", f"autoscalers: []\n{notified}"),
            ("tests.yaml", TESTS),
            ("hpa.yaml", HPA),
        ):
            (folder / name).write_text(text)
        state.close()
        yield scene


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedScene]:
    """A running server."""
    with served_scene(tmp_path_factory.mktemp("served")) as scene:
        yield scene


def check_codes(scene: Scene, command: str, asks: Sequence[str]) -> None:
    """Run the three asks, and expect 2, 1 and 0."""
    for expected, words in zip((2, 1, 0), asks, strict=True):
        said = scene.run(command, *words.split())
        assert said.code == expected, (command, words, said)
        assert "Traceback" not in said.err
        if expected == 2:
            assert (said.out, "Usage: " in said.err) == ("", True)
        elif expected == 1:
            assert _reason(said), (command, words, said)


def _reason(said: Result) -> str:
    """Return what was wrong: of `check`, of which it is the answer, on stdout."""
    return said.err.strip() or said.out.strip()


def test_every_command_has_its_asks() -> None:
    assert sorted([*ONLINE, *OFFLINE, "run"]) == sorted([*COMMANDS, *HIDDEN])


@pytest.mark.parametrize("command", ONLINE)
def test_a_command_that_asks_the_daemon(served: ServedScene, command: str) -> None:
    check_codes(served, command, ONLINE[command])


def test_a_command_that_asks_no_daemon(alone: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(alone.folder)
    for command, asks in OFFLINE.items():
        check_codes(alone, command, asks)


def test_the_documented_table_has_these_codes() -> None:
    page = Path(__file__).parents[2] / "docs/cli.md"
    section = page.read_text().partition("## Exit codes\n")[2].partition("\n## ")[0]
    assert [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")][1:] == ["0", "1", "2"]
