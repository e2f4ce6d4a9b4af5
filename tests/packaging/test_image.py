"""The content of the OCI image, and the example stack and job that run it on a real Swarm and a real Nomad."""

import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.packaging.artefacts import PROJECT, checked, image
from tests.servers.docker import Engine, running_engine, wait_for
from tests.servers.nomad import running_nomad, service
from tests.servers.ports import free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]  # the first test that needs the package builds it
NAME = "prometheus-autoscaler:test"
_CONFIGURATION = """
web: {{listenAddress: "{web}"}}
controller: {{syncPeriod: 1s}}
prometheus: {{default: {{url: "{prometheus}"}}}}
adapters: {{cluster: {{{adapter}}}}}
autoscalers:
  - name: web
    scaleTargetRef: {{adapter: cluster, name: {target}}}
    minReplicas: 2
    maxReplicas: 9
    metrics:
      - type: External
        external:
          metric: {{name: queue}}
          query: {{expr: vector(30)}}
          target: {{type: AverageValue, averageValue: 10}}
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image(tmp_path_factory)


@pytest.fixture(scope="module")
def engine(archive: Path) -> Iterator[Engine]:
    """An engine with the image, copied there by `skopeo copy`."""
    with running_engine() as running:
        where = ("--dest-daemon-host", running.host, f"oci-archive:{archive}", f"docker-daemon:{NAME}")
        checked("skopeo", "--insecure-policy", "copy", "--quiet", *where)
        yield running


def prepared(folder: Path, *files: str, **words: str) -> Path:
    """Copy files of config/deploy, as a user does, and write a configuration beside them.

    `web`: the daemon's address. The daemon uses the machine's network, where the default port may be taken.
    """
    for name in files:
        shutil.copy(PROJECT / "config/deploy" / name, folder)
    (folder / "autoscaler.yaml").write_text(_CONFIGURATION.format(**words))
    return folder


def test_the_image_contains_the_program_and_no_shell(archive: Path, tmp_path: Path) -> None:
    """An intruder cannot use what is not there, and it needs no update."""
    settings = json.loads(checked("skopeo", "inspect", "--config", f"oci-archive:{archive}"))["config"]
    assert settings["User"] == "65532:65532"
    assert settings["Entrypoint"] == ["/usr/bin/autoscaler"]
    checked("skopeo", "--insecure-policy", "copy", "--quiet", f"oci-archive:{archive}", f"dir:{tmp_path}")
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    names = set[str]()
    for layer in manifest["layers"]:
        with tarfile.open(tmp_path / layer["digest"].removeprefix("sha256:")) as content:
            names |= {name.removeprefix("./").lstrip("/") for name in content.getnames()}
    assert {"usr/bin/autoscaler", "usr/bin/python3", "etc/ssl/certs/ca-certificates.crt"} <= names
    programs = {name for name in names if re.match(r"(usr/)?(s?bin|games)/", name)}
    assert {"usr/bin/autoscaler", "usr/bin/python3"} <= programs
    assert [name for name in programs if not name.startswith(("usr/bin/autoscaler", "usr/bin/python3"))] == []
    assert archive.stat().st_size < 100 * 2**20


def test_the_image_runs_on_a_read_only_root_without_privileges(engine: Engine) -> None:
    """The error names the missing configuration."""
    command = ("docker", "--host", engine.host, "run", "--rm", "--read-only", "--cap-drop=all", "--network=none", NAME)
    assert checked(*command, "--version").startswith("autoscaler ")
    done = subprocess.run((*command, "run"), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert "/etc/autoscaler/autoscaler.yaml:1:1: the file cannot be read" in done.stderr


def test_the_example_stack_scales_a_service_of_its_swarm(engine: Engine, prometheus: str, tmp_path: Path) -> None:
    """It is deployed as its comment says; `get` and `pause` work in its container."""
    adapter, web = "type: docker-swarm", f"127.0.0.1:{free_port()}"
    folder = prepared(tmp_path, "docker-stack.yaml", prometheus=prometheus, adapter=adapter, target="web", web=web)
    environment = {
        **os.environ,
        "DOCKER_HOST": engine.host,
        "AUTOSCALER_IMAGE": NAME,
        "DOCKER_SOCKET": str(engine.socket),
        "DOCKER_GROUP": str(engine.socket.stat().st_gid),
    }

    def docker(*words: str) -> str:
        done = subprocess.run(
            ("docker", *words), cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def of_the_stack() -> str:
        return docker("ps", "--quiet", "--filter", "label=com.docker.swarm.service.name=autoscaler_autoscaler").strip()

    docker("node", "update", "--label-add", "autoscaler=true", docker("node", "ls", "--quiet").strip())
    with engine.service("web"):
        docker("stack", "deploy", "--resolve-image", "never", "-c", "docker-stack.yaml", "autoscaler")
        try:
            engine.wait_running("web", 3)
            docker("exec", of_the_stack(), "autoscaler", "pause", "web")
            shown = docker("exec", of_the_stack(), "autoscaler", "get", "--output=json")
            assert json.loads(shown)["autoscalers"][0]["steering"]["pause"]["by"] == "autoscaler"
        finally:
            docker("stack", "rm", "autoscaler")
            wait_for(lambda: not of_the_stack(), "the daemon to be gone")


def _is_ready(web: str) -> bool:
    try:
        return requests.get(f"http://{web}/-/ready", timeout=30).ok
    except requests.ConnectionError:
        return False


def test_the_example_job_scales_a_group_of_its_nomad(engine: Engine, prometheus: str, tmp_path: Path) -> None:
    """ACLs are enabled: the task has its own token, and the policy is the one beside the job."""
    state, agent = tmp_path / "state", tmp_path / "agent"
    web = f"127.0.0.1:{free_port()}"
    state.mkdir(mode=0o700)
    os.chown(state, 65532, 65532)
    agent.mkdir()
    further = (
        f'client {{\n  host_volume "autoscaler" {{\n    path = "{state}"\n  }}\n}}\n'
        f'plugin "docker" {{\n  config {{\n    endpoint = "{engine.host}"\n  }}\n}}\n'
    )
    with running_nomad(agent, acl=True, further=further) as nomad:
        adapter = f"type: nomad, address: '{nomad.url}', tokenFile: /secrets/nomad_token"
        files = ("nomad-job.hcl", "nomad-policy.hcl")
        prepared(agent, *files, prometheus=prometheus, adapter=adapter, target="web/work", web=web)
        nomad.register(service("web"))
        nomad.command(
            "acl", "policy", "apply", "-namespace", "default", "-job", "autoscaler", "autoscaler", "nomad-policy.hcl"
        )
        job = ("-var", f"image={NAME}", "-var", 'datacenters=["dc1"]', "nomad-job.hcl")
        assert "Job validation successful" in nomad.command("job", "validate", *job)
        try:
            nomad.command("job", "run", "-detach", *job)
            nomad.wait(lambda: _is_ready(web), "the daemon's /-/ready")
            nomad.wait(
                lambda: [each["ClientStatus"] for each in nomad.allocations("web")].count("running") == 3,
                "three workers",
            )
            nomad.command("alloc", "exec", "-job", "autoscaler", "autoscaler", "pause", "web")
            get = ("autoscaler", "get")
            nomad.wait(  # `nomad alloc exec` of a busy agent may end without what the command printed
                lambda: "\nweb " in nomad.command("alloc", "exec", "-job", "autoscaler", *get), "the table of `get`"
            )
        finally:
            nomad.purge("autoscaler")
            nomad.wait(
                lambda: not engine.client.containers(filters={"ancestor": NAME}), "the daemon's container to be gone"
            )
