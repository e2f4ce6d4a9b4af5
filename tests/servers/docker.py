"""A real Docker engine with a swarm of one node, and services made from busybox."""

import fcntl
import io
import os
import shutil
import signal
import socket
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import docker

from tests.servers.ports import free_port
from tests.servers.required import require
from tests.temporary import FOR_ALL_RUNS, make_folder, remove
from tests.waiting import PATIENCE_SECONDS, until

IMAGE: Final = "worker:1"
READY_WITHIN_SECONDS: Final = 180.0
STOPPED_WITHIN_SECONDS: Final = 180.0
_LOCK: Final = FOR_ALL_RUNS / "docker-engine-tests.lock"
_LEFT_BEHIND_AFTER_SECONDS: Final = 15.0
"""The engine sometimes leaves a container whose service was removed while the engine created it."""
_APPLETS: Final = (
    *("awk", "cat", "echo", "false", "httpd", "ls", "mkdir", "nslookup", "rm"),
    *("seq", "sh", "shuf", "sleep", "test", "touch", "true", "wc", "wget"),
)


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine with the image `IMAGE`, by default a Swarm manager."""

    socket: Path
    pid: int
    client: Any
    """A docker.APIClient; its published types are incomplete."""
    tls_address: str = ""
    """`HOST:PORT` of its listener with --tlsverify, if it has certificates."""

    @property
    def host(self) -> str:
        """Return its address, as in DOCKER_HOST."""
        return f"unix://{self.socket}"

    @contextmanager
    def service(self, name: str, *, command: Sequence[str] = ("sleep", "1000000"), **spec: Any) -> Iterator[str]:
        """Run a service until the block ends. Yields its id. `spec`: sections of the API's ServiceSpec, deep-merged."""
        body = _merge(_default_spec(name, command), spec)
        answer = self.client.post(f"{self.client.base_url}/v{self.client.api_version}/services/create", json=body)
        assert answer.ok, answer.text
        service_id: str = answer.json()["ID"]
        try:
            yield service_id
        finally:
            self.remove(service_id)

    def remove(self, service_id: str) -> None:
        """Remove a service, if it exists, and wait until its containers are gone."""
        try:
            self.client.remove_service(service_id)
        except docker.errors.NotFound:
            return
        patience = time.monotonic() + _LEFT_BEHIND_AFTER_SECONDS
        label = f"com.docker.swarm.service.id={service_id}"

        def gone() -> bool:
            left = self.client.containers(all=True, filters={"label": label})
            for container in left if time.monotonic() > patience else ():
                with suppress(docker.errors.APIError):  # it may already be ending
                    self.client.remove_container(container["Id"], force=True)
            return not left

        wait_for(gone, f"{service_id} to be gone")

    def update(self, name: str, **spec: Any) -> None:
        """Change sections of a service's spec, deep-merged, as another client would."""
        self._post(name, spec)

    def roll_back(self, name: str) -> None:
        """Begin a rollback, as `docker service rollback` does."""
        self._post(name, {}, rollback="previous")

    def _post(self, name: str, spec: Mapping[str, Any], **query: str) -> None:
        for _ in range(10):  # the engine itself may be faster
            service = self.client.inspect_service(name)
            url = f"{self.client.base_url}/v{self.client.api_version}/services/{service['ID']}/update"
            versioned = {"version": service["Version"]["Index"], **query}
            answer = self.client.post(url, params=versioned, json=_merge(service["Spec"], spec))
            if "out of sequence" not in answer.text:
                break
        assert answer.ok, answer.text

    def scale(self, name: str, replicas: int) -> None:
        """Set a service's size, as `docker service scale` would."""
        self.update(name, Mode={"Replicated": {"Replicas": replicas}})

    def running(self, name: str) -> dict[str, str]:
        """Return task id -> container id of the tasks that run and stay."""
        tasks = self.client.tasks(filters={"service": name, "desired-state": "running"})
        live = [task for task in tasks if task["Status"]["State"] == "running"]
        return {task["ID"]: task["Status"]["ContainerStatus"]["ContainerID"] for task in live}

    def wait_running(self, name: str, count: int) -> dict[str, str]:
        """Wait until `running` has `count` entries. Returns it."""
        wait_for(lambda: len(self.running(name)) == count, f"{count} running tasks of {name}")
        return self.running(name)


def published(port: int = 8080) -> dict[str, Any]:
    """Return the `EndpointSpec` of `--publish mode=host,target=PORT`: each task has its own port on the node."""
    return {"Ports": [{"Protocol": "tcp", "TargetPort": port, "PublishMode": "host"}]}


def wait_for(happened: Callable[[], Any], what: str, within_seconds: float = PATIENCE_SECONDS) -> None:
    """Poll until `happened()` is true. Fails the test after `within_seconds`."""
    until(happened, what, within_seconds, every_seconds=0.1)


@contextmanager
def running_engine(
    certificates: Path | None = None, *, swarm: bool = True, within: Sequence[str] = ()
) -> Iterator[Engine]:
    """Run an engine in its own folder, with an initialised swarm. One at a time on a machine: others wait.

    `certificates`: a folder with ca.pem, server-cert.pem and server-key.pem; the engine then also listens on TCP with
    --tlsverify. `swarm`: false leaves `docker swarm init` to the test. `within`: a command that runs dockerd, in a
    network namespace for example. Skips the test, with the reason, if no engine can run.
    """
    dockerd, busybox = _programs()
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = make_folder("swarm-")  # the socket's own group and mode say who may use it
        links = _links()
        try:
            yield from _run([*within, dockerd], busybox, folder, certificates, swarm=swarm)
        finally:
            _clean(folder, links)


def _programs() -> tuple[str, str]:
    if os.geteuid() != 0:
        require("a Docker engine for tests needs root; run the tests as root")
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    dockerd = shutil.which("dockerd", path=path) or require("dockerd is not on PATH; install docker.io")
    busybox = shutil.which("busybox") or require("busybox is not on PATH; install busybox-static")
    with Path(busybox).open("rb") as program:
        if b"ld-linux" in program.read(4096):
            require(f"{busybox} needs libraries, and the image would have none; install busybox-static")
    return dockerd, busybox


def _run(
    dockerd: Sequence[str], busybox: str, folder: Path, certificates: Path | None, *, swarm: bool
) -> Iterator[Engine]:
    socket_path, tls_address = folder / "docker.sock", ""
    command = [*dockerd, "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid"]
    command += ["-H", f"unix://{socket_path}", "--iptables=false", "--ip-masq=false"]
    if certificates is not None:
        tls_address = f"127.0.0.1:{free_port()}"
        command += ["-H", f"tcp://{tls_address}", "--tlsverify", f"--tlscacert={certificates}/ca.pem"]
        command += [f"--tlscert={certificates}/server-cert.pem", f"--tlskey={certificates}/server-key.pem"]
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
    client = None
    try:
        _wait_ready(process, socket_path, log)
        client = docker.APIClient(base_url=f"unix://{socket_path}", version="auto", timeout=30)
        if swarm:
            client.init_swarm(advertise_addr="127.0.0.1", listen_addr=f"127.0.0.1:{free_port()}")
        client.import_image_from_data(_root_file_system(Path(busybox)), repository="worker", tag="1")
        yield Engine(socket_path, process.pid, client, tls_address)
    finally:
        _assert_runs(process, log)
        if client is not None:
            if client.info()["Swarm"]["LocalNodeState"] != "inactive":
                client.leave_swarm(force=True)
            client.close()
        _stop(process)


def _wait_ready(process: subprocess.Popen[bytes], path: Path, log: Path) -> None:
    end = time.monotonic() + READY_WITHIN_SECONDS
    while True:
        _assert_runs(process, log)
        assert time.monotonic() < end, f"dockerd was not ready within {READY_WITHIN_SECONDS:g} s; see {log}"
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(5)
            try:
                probe.connect(str(path))
                probe.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
                if probe.recv(64).startswith(b"HTTP/1.0 200"):
                    return
            except OSError:  # not listening yet
                pass
        time.sleep(0.05)


def _assert_runs(process: subprocess.Popen[bytes], log: Path) -> None:
    """Fail with the last words of an engine that has ended. Its log is deleted with its folder."""
    assert process.poll() is None, f"dockerd ended with {process.returncode}:\n{log.read_text()[-20_000:]}"


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOPPED_WITHIN_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _root_file_system(busybox: Path) -> bytes:
    """Return a tar archive of busybox and the links to it."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.add(busybox.resolve(), "bin/busybox")
        for applet in _APPLETS:
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
        temporary = tarfile.TarInfo("tmp")
        temporary.type, temporary.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(temporary)
    return archive.getvalue()


def _default_spec(name: str, command: Sequence[str]) -> dict[str, Any]:
    container = {"Image": IMAGE, "Command": list(command), "StopGracePeriod": 500_000_000, "Init": True}
    return {"Name": name, "TaskTemplate": {"ContainerSpec": container}}


def _merge(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in change.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def _links() -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir()}


def _clean(folder: Path, links_before: set[str]) -> None:
    """Remove the engine's bridges, and its folder with what it left mounted."""
    for bridge in {"docker0", "docker_gwbridge"} & (_links() - links_before):
        subprocess.run(("ip", "link", "delete", bridge), check=True)
    remove(folder)
