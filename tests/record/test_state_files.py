"""A state whose file is moved, deleted or replaced takes no commit: it would be lost at the next start."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscaler.errors import StateError
from autoscaler.model import ManualControls
from tests.record.conftest import Opener
from tests.record.samples import FLEET, decision, keep
from tests.steering import steer


def move(path: Path) -> None:
    path.rename(path.with_name(f"{path.name}.elsewhere"))


def replace_by_a_copy(path: Path) -> None:
    shutil.copy(path, f"{path}.copy")
    Path(f"{path}.copy").replace(path)


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda state: move(state / "state.db"), id="moved"),
        pytest.param(lambda state: (state / "state.db").unlink(), id="deleted"),
        pytest.param(lambda state: replace_by_a_copy(state / "state.db"), id="copied"),
        pytest.param(lambda state: (state / "state.db-wal").unlink(), id="log"),
        pytest.param(lambda state: (state / "state.db-shm").unlink(), id="index"),
        pytest.param(lambda state: (state / "state.db.lock").unlink(), id="lock"),
        pytest.param(move, id="folder-moved"),
        pytest.param(lambda state: shutil.rmtree(state, ignore_errors=True), id="folder-deleted"),
    ],
)
def test_nothing_is_committed_to_a_state_that_is_gone(opener: Opener, harm: Callable[[Path], Any]) -> None:
    """Neither a decision nor a pause. A pause that was answered with 200 was gone after the restart."""
    state = opener.state()
    ledger = state.ledger(FLEET)
    keep(ledger, decision(0))
    harm(opener.folder)
    said = "was moved, deleted or replaced while the daemon uses it.*put the file back, or restart the daemon"
    with pytest.raises(StateError, match=said):
        keep(ledger, decision(15))
    with pytest.raises(StateError, match=said):
        steer(state, "web", ManualControls())
