"""docs/quickstart-process.md: real workers, a real Prometheus; the package's examples are those of the source tree."""

from pathlib import Path

import pytest

from tests.quickstart.machine import running_machine
from tests.quickstart.page import DOCS, DROP_INS, WEB_SERVER, follow

pytestmark = pytest.mark.slow


def test_the_process_page_scales_from_one_worker_to_four_and_back(tmp_path: Path) -> None:
    with running_machine(tmp_path) as machine:
        follow(DOCS / "quickstart-process.md", machine, {**WEB_SERVER, **DROP_INS})
