from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.scene import Scene, ServedScene, build, served_scene
from tests.view.lives import open_state


@pytest.fixture(scope="module")
def online(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedScene]:
    """A running server."""
    with served_scene(tmp_path_factory.mktemp("online")) as scene:
        yield scene


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A state without a running daemon."""
    folder = tmp_path_factory.mktemp("offline")
    with open_state(folder) as state:
        return build(folder, state)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The path of a manifest."""
    return tmp_path / "hpa.yaml"
