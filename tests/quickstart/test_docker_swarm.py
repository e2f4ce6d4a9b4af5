"""docs/quickstart-docker-swarm.md: a real engine, a real Prometheus; nothing is substituted.

The image contains only Debian's busybox, because there is no registry to pull from.
"""

import shutil
from pathlib import Path

import pytest

from tests.quickstart.machine import running_machine
from tests.quickstart.page import DOCS, follow
from tests.servers.docker import IMAGE, running_engine
from tests.servers.required import require

pytestmark = pytest.mark.slow


def test_the_docker_swarm_page_scales_from_one_task_to_four_and_back(tmp_path: Path) -> None:
    if shutil.which("docker") is None:
        require("docker is not on PATH; install docker.io")
    with running_machine(tmp_path) as machine, running_engine(swarm=False, within=machine.enter("--net")) as engine:
        engine.client.tag(IMAGE, "busybox", "1.37")
        machine.run(f"ln -s {engine.socket} /run/docker.sock")
        machine.run("groupadd -f docker && useradd --system prometheus")  # as Debian's packages do
        follow(DOCS / "quickstart-docker-swarm.md", machine)
