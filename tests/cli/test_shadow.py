"""`autoscaler shadow` compares a target with the shadow of a dry run."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from autoscaler.decide import conclude, decide
from autoscaler.model import Observation, Observed, Proposed
from tests.cli.scene import UNREACHABLE, Scene, ServedScene
from tests.decide.build import QUEUE_15, scaler, state, value
from tests.documents.lives import named, open_state
from tests.replaced import replace
from tests.web.serving import Daemon


@pytest.fixture
def dry(tmp_path: Path) -> Scene:
    """Four cycles of a dry run on two instances, whose queue asks for four; no daemon runs."""
    one = replace(named(scaler(QUEUE_15), "jobs"), dry_run=True)
    now = datetime.now(UTC) - timedelta(seconds=61)
    with open_state(tmp_path) as opened:
        ledger = opened.ledger("fleet")
        for _ in range(4):
            now += timedelta(seconds=15)
            seen = Observation(state(2), (value(60_000),))
            made = decide(one, seen, ledger.recall([one])["jobs"], now)
            made = conclude(made, None if made.change is None else Proposed(made.change.size))
            ledger.record({"jobs": one}, Observed({"jobs": seen}), [made])
        env = {"AUTOSCALER_SERVER": UNREACHABLE, "STATE_DIRECTORY": str(tmp_path)}
        unused = Daemon(opened, [one])
        return Scene(tmp_path, opened, None, None, unused, env)  # type: ignore[arg-type]  # nothing else lives there


def test_target_and_shadow_are_shown_side_by_side(dry: Scene) -> None:
    """Of four cycles of 15 s the shadow has two instances in the first and four in the others."""
    said = dry.run("shadow", "jobs")
    assert said.code == 0
    assert said.lines[0].startswith("jobs: 4 decisions of a dry run, ")
    table = {line[:22].strip(): line[22:].split() for line in said.lines[3:]}
    assert said.lines[2].split() == ["TARGET", "SHADOW"]
    assert table["instance-hours"] == ["0.03", "0.06"]
    assert table["changes of size"] == ["0", "1"]
    assert table["largest size"] == ["2", "4"]


def test_json_has_the_numbers(dry: Scene) -> None:
    """Each cycle covers one sync period. `until` is the end of the last."""
    found = json.loads(dry.run("shadow", "jobs", "-o", "json").out)
    assert (found["decisions"], found["coveredSeconds"]) == (4, 60)
    assert datetime.fromisoformat(found["until"]) - datetime.fromisoformat(found["since"]) == timedelta(seconds=60)
    assert (found["target"]["largest"], found["shadow"]["largest"]) == (2, 4)


def test_an_autoscaler_without_a_dry_run_refers_to_replay(online: ServedScene) -> None:
    """It sets the size itself, so there are no two sizes to compare."""
    said = online.run("shadow", "web")
    assert (said.code, said.out) == (1, "")
    assert "autoscaler 'web' is not a dry run and has no shadow; use `autoscaler replay web`" in said.err


def test_a_time_without_decisions_of_a_dry_run_is_an_error(dry: Scene) -> None:
    said = dry.run("shadow", "jobs", "--since", "2026-01-01T00:00:00Z", "--until", "2026-01-01T01:00:00Z")
    assert (said.code, said.out) == (1, "")
    assert "autoscaler 'jobs' was not a dry run with a shadow from 2026-01-01T00:00:00+00:00 to" in said.err
