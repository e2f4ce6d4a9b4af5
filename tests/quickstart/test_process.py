"""docs/quickstart-process.md: real workers, a real Prometheus; nothing is substituted."""

from pathlib import Path
from typing import Final

import pytest

from tests.quickstart.machine import running_machine
from tests.quickstart.page import DOCS, File, follow, steps

PAGE: Final = DOCS / "quickstart-process.md"
DROP_IN: Final = "autoscaler.service.d/process.conf"


def _settings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_the_page_s_drop_in_is_the_project_s() -> None:
    """The one that the tests under a real systemd run with."""
    (shown,) = (step for step in steps(PAGE.read_text()) if isinstance(step, File) and step.path.endswith(DROP_IN))
    assert _settings(shown.text) == _settings((DOCS.parent / "systemd" / DROP_IN).read_text())


@pytest.mark.slow
def test_the_page_of_processes_leads_from_one_worker_to_four_and_back(tmp_path: Path) -> None:
    """Whoever types what it says sees what it shows."""
    with running_machine(tmp_path) as machine:
        follow(PAGE, machine)
