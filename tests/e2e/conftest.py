"""The program of these tests is the installed wheel, not this checkout."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.artefacts import installed_wheel


@pytest.fixture(scope="package", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the wheel's packages, from which each `python -m autoscaler` that a test starts imports them."""
    site = installed_wheel(tmp_path_factory)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", str(site))
        environment.setenv("PYTHONSAFEPATH", "1")  # otherwise the current folder, the checkout, would go first
        yield site
