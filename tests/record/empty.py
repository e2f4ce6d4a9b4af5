"""An empty state to begin with: to create its tables takes longer than many a test needs them."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from autoscaler.record.folder import make_private_folder
from autoscaler.record.housekeeping import Retention
from autoscaler.record.state import State


@cache
def _content() -> bytes:
    with TemporaryDirectory() as folder:
        State.open(None, Path(folder), Retention()).close()
        return Path(folder, "state.db").read_bytes()


def put_empty_state(folder: Path) -> None:
    """Put the file of a state without cycles into a folder that has none."""
    make_private_folder(folder)
    file = folder / "state.db"
    if not file.exists():
        file.write_bytes(_content())
