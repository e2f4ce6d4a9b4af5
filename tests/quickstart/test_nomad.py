"""docs/quickstart-nomad.md: a real agent, a real Prometheus; the package's example is that of the source tree."""

from pathlib import Path

import pytest

from tests.quickstart.machine import running_machine
from tests.quickstart.page import DOCS, WEB_SERVER, follow
from tests.servers.required import require
from tools.nomad import NomadNotFound, nomad_binary

pytestmark = pytest.mark.slow


def test_the_nomad_page_scales_from_one_allocation_to_four_and_back(tmp_path: Path) -> None:
    try:
        binary = nomad_binary()
    except NomadNotFound as missing:
        require(str(missing))
    with running_machine(tmp_path, {"nomad": binary}) as machine:
        follow(DOCS / "quickstart-nomad.md", machine, WEB_SERVER)
