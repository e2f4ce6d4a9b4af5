from collections.abc import Iterator

import pytest

from tests.cli.scene import Scene, ServedScene, build, served_scene
from tests.documents.lives import open_state


@pytest.fixture(scope="module")
def online(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedScene]:
    """A running server."""
    with served_scene(tmp_path_factory.mktemp("online")) as scene:
        yield scene


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A state whose daemon is down."""
    folder = tmp_path_factory.mktemp("offline")
    with open_state(folder) as state:
        return build(folder, state)
