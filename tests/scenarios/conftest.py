from pathlib import Path

import pytest

from tests.scenarios.building import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)
