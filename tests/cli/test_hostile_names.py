"""Names come from back ends and users, and no output lets them control a terminal."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from autoscaler.model import Direction, Failure, Hold, HoldReason, ManualControls, Override, Pause, TargetRef
from tests.cli.scene import ServedScene
from tests.decide.build import CPU_60, QUEUE_15, instances, samples, scaler, state
from tests.replaced import replace
from tests.steering import steer
from tests.view.lives import Recorded, open_state
from tests.web.serving import Daemon, serving

NO_TIMES = "0001-01-01T00:00:00Z 2026-02-30T25:61:61Z"
"""Go's word for no time, as Docker, Nomad and Prometheus write it in their errors, and a date that is none."""
HOSTILE = f"x\x1b[2J\x9b31m\x7f\u202e\r\nFAKE ROW\t<script>alert(1)</script> {NO_TIMES}"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedScene]:
    """An autoscaler in which every name is hostile."""
    folder: Path = tmp_path_factory.mktemp("hostile")
    metrics = tuple(replace(each, name=HOSTILE) for each in (CPU_60, QUEUE_15))
    autoscaler = replace(scaler(*metrics), target=TargetRef("fleet", HOSTILE, HOSTILE, HOSTILE))
    now = datetime.now(UTC)
    with open_state(folder) as opened:
        life = Recorded(opened.ledger("fleet"), autoscaler)
        life.now = now - timedelta(seconds=46)
        workers = tuple(replace(each, name=HOSTILE + each.name) for each in instances(3))
        seen = replace(state(3, workers), warnings=(HOSTILE,))
        used = samples({each.name: 900 for each in workers[1:]})
        used = replace(used, unmatched=(HOSTILE,), dropped=(HOSTILE,))
        life.step(used, Failure(HOSTILE), target=seen)
        held = replace(seen, hold=Hold(HoldReason("Held", HOSTILE), HoldReason("Held", HOSTILE)))
        life.step(used, Failure(HOSTILE), target=held)
        steering = ManualControls(
            Pause(Direction.BOTH, HOSTILE, HOSTILE, now, None), Override(1, 9, HOSTILE, HOSTILE, now, None)
        )
        steer(opened, "web", steering)
        daemon = Daemon(opened, [autoscaler])
        daemon.clock.wall = now
        with serving(daemon) as served:
            env = {"STATE_DIRECTORY": str(folder), "AUTOSCALER_SERVER": served.server.url}
            yield ServedScene(folder, opened, life, life, daemon, env, served=served)


@pytest.mark.parametrize(
    "command",
    [["get"], ["get", "-o", "wide"], ["describe", "web"], ["explain", "web"], ["events"], ["history", "web"]],
    ids=" ".join,
)
def test_tables_escape_control_characters_in_names(scene: ServedScene, command: list[str]) -> None:
    """A name cannot forge a row either, and one that looks like a time is shown as it is."""
    said = scene.run(*command)
    assert said.code == 0, said.err
    assert all(line.isprintable() for line in said.lines), said.out
    assert not [line for line in said.lines if line.lstrip().startswith("FAKE ROW")]
    assert "\\x1b[2J" in said.out or command == ["history", "web"]


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_json_and_yaml_escape_control_characters(scene: ServedScene, form: str) -> None:
    """People read them in terminals, too."""
    said = scene.run("describe", "web", "-o", form)
    assert said.code == 0
    assert all(line.isprintable() for line in said.lines), said.out


def test_the_page_shows_names_as_text(scene: ServedScene) -> None:
    """The overview and the page of an autoscaler escape markup."""
    for path in ("/", "/autoscalers/web"):
        page = scene.served.get(path)
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "&lt;script&gt;alert(1)" in page.text
        assert NO_TIMES in page.text
