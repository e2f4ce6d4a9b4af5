"""docs/quickstart-docker-swarm-stack.md: a real engine, the real image; there is no registry to pull from.

The images of busybox and Prometheus contain only Debian's programs, and are imported under the page's names.
"""

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.packaging.artefacts import image
from tests.quickstart.machine import running_machine
from tests.quickstart.page import DOCS, follow
from tests.servers.docker import IMAGE, Engine, running_engine
from tests.servers.required import require
from tools.prometheus import prometheus_binaries

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]  # the first test that needs the image builds it


def test_one_stack_scales_a_service_by_its_labels(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """From one task to four and back."""
    if shutil.which("docker") is None:
        require("docker is not on PATH; install docker.io")
    archive = image(tmp_path_factory)
    with running_machine(tmp_path) as machine, running_engine(swarm=False, within=machine.enter("--net")) as engine:
        engine.client.tag(IMAGE, "busybox", "1.37")
        _import_prometheus(engine)
        machine.run(f"ln -s {engine.socket} /run/docker.sock")
        machine.run(f"mkdir /srv/shop && ln -s {archive} /srv/shop/autoscaler.tar")
        own = {"source: /var/run/docker.sock": f"source: {engine.socket}"}  # the engine's folders are this machine's
        follow(DOCS / "quickstart-docker-swarm-stack.md", machine, own, within_seconds=300)


def _import_prometheus(engine: Engine) -> None:
    """Import Debian's Prometheus with its libraries, which starts as the published image does."""
    program = prometheus_binaries().prometheus
    needed = subprocess.run(("ldd", str(program)), capture_output=True, text=True, check=True).stdout.split()
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.add(program, "bin/prometheus")
        for library in filter(os.path.isabs, needed):
            tar.add(Path(library).resolve(), library.lstrip("/"))
    engine.client.import_image_from_data(
        archive.getvalue(),
        repository="prom/prometheus",
        tag="v3.5.0",
        changes=[
            'ENTRYPOINT ["/bin/prometheus"]',
            'CMD ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]',
        ],
    )
