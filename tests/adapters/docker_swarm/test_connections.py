"""Connections to an engine: a socket, TCP with TLS, SSH, and the environment's settings."""

import grp
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.docker_swarm import DockerSwarm
from autoscaler.errors import TargetError, TargetForbidden, TargetUnavailable
from autoscaler.model import Written
from tests.adapters.docker_swarm.build import Connect, call, change, ref, state_of
from tests.adapters.docker_swarm.certificates import make_certificates
from tests.servers.docker import Engine, wait_for
from tests.servers.ports import free_port
from tests.servers.required import require

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def web(engine: Engine) -> Iterator[None]:
    with engine.service("web", Mode={"Replicated": {"Replicas": 0}}):
        yield


def tls(folder: Path) -> dict[str, str]:
    return {
        key: str(folder / file)
        for key, file in (("caFile", "ca.pem"), ("certFile", "cert.pem"), ("keyFile", "key.pem"))
    }


def works(swarm: DockerSwarm) -> None:
    """Check that `observe` and `scale` work."""
    seen = state_of(swarm, "web")
    assert swarm.scale(ref("web"), change(seen.replicas + 1, seen), call()) == Written(seen.replicas + 1)


def failing(swarm: DockerSwarm) -> TargetError:
    with pytest.raises(TargetError) as caught:
        swarm.observe([ref("web")], call())
    return caught.value


def test_the_socket(engine: Engine, connect: Connect) -> None:
    """Most hosts have it."""
    works(connect(engine.host))


def test_tcp_with_tls_and_our_own_certificate(engine: Engine, connect: Connect, certificates: Path) -> None:
    """`dockerd --tlsverify` is the secure way over a network."""
    works(connect(f"tcp://{engine.tls_address}", tls=tls(certificates)))


def test_an_engine_that_another_authority_signed_is_not_talked_to(
    engine: Engine, connect: Connect, certificates: Path, tmp_path: Path
) -> None:
    """It could be another server; the message names what to check, and no key."""
    strangers = tls(make_certificates(tmp_path))
    error = failing(connect(f"tcp://{engine.tls_address}", tls=tls(certificates) | {"caFile": strangers["caFile"]}))
    assert type(error) is TargetForbidden
    assert "TLS failed" in str(error)
    assert "caFile" in str(error)


def test_an_engine_that_wants_a_certificate_forbids_without_one(
    engine: Engine, connect: Connect, certificates: Path
) -> None:
    """A retry does not help."""
    section = {"caFile": tls(certificates)["caFile"]}
    assert type(failing(connect(f"tcp://{engine.tls_address}", tls=section))) is TargetForbidden


def test_plain_tcp_to_a_tls_port_says_so(engine: Engine, connect: Connect) -> None:
    """The engine answers 400 with the reason as plain text."""
    error = failing(connect(f"tcp://{engine.tls_address}"))
    assert type(error) is TargetUnavailable
    assert "HTTPS" in str(error)


def test_a_user_outside_the_sockets_group_is_told_of_the_drop_in(engine: Engine, connect: Connect) -> None:
    """A daemon under systemd's DynamicUser meets this error first."""
    swarm = connect(engine.host)
    with acting_as("nobody"):
        error = failing(swarm)
    assert type(error) is TargetForbidden
    assert "systemd/autoscaler.service.d/docker.conf" in str(error)


def test_the_drop_ins_group_opens_the_socket(engine: Engine, connect: Connect) -> None:
    """The user has only the supplementary group of systemd/autoscaler.service.d/docker.conf."""
    drop_in = Path(__file__).parents[3] / "systemd/autoscaler.service.d/docker.conf"
    (setting,) = (line for line in drop_in.read_text().splitlines() if line.startswith("SupplementaryGroups="))
    swarm = connect(engine.host)
    with acting_as("nobody", setting.partition("=")[2]):
        works(swarm)


def test_ssh(engine: Engine, connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real client, a real sshd, and `docker system dial-stdio` at the far end, as the docker command line does."""
    with running_sshd(tmp_path, engine.host) as (port, options):
        real = f'exec {shutil.which("ssh")} {options} "$@"'  # not this user's configuration
        fake_ssh(tmp_path, f'echo "$*" >>{tmp_path}/arguments; {real}', monkeypatch)
        works(connect(f"ssh://root@127.0.0.1:{port}"))
    logins = (tmp_path / "arguments").read_text().splitlines()
    login = f"-T -o BatchMode=yes -l root -p {port} -- 127.0.0.1 docker system dial-stdio"
    assert logins == [login, login], "one for each method"


def test_the_ssh_clients_errors_are_in_the_message(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the ssh client knows that a key is not accepted or a host key is unknown."""
    fake_ssh(tmp_path, "echo 'me@manager: Permission denied (publickey).' >&2; exit 255", monkeypatch)
    error = failing(connect("ssh://manager"))
    assert type(error) is TargetUnavailable
    assert "Permission denied (publickey)" in str(error)


def test_an_ssh_that_hangs_is_ended_at_the_deadline(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It leaves no process."""
    fake_ssh(tmp_path, f"echo $$ >{tmp_path}/pid; exec sleep 600", monkeypatch)
    with pytest.raises(TargetUnavailable, match="no answer within the cycle's deadline"):
        connect("ssh://manager").observe([ref("web")], call(8))
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_without_an_ssh_client_the_message_says_so(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ssh client is a separate program that an operator installs."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "the ssh client does not exist" in str(failing(connect("ssh://manager")))


def fake_ssh(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put an `ssh` before the machine's own on PATH."""
    folder = folder / "bin"
    folder.mkdir()
    (folder / "ssh").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@contextmanager
def running_sshd(folder: Path, docker_host: str) -> Iterator[tuple[int, str]]:
    """Run a server that accepts root with one key; yield its port and its client's options."""
    sshd = shutil.which("sshd", path="/usr/sbin:/sbin") or require("sshd is not installed; install openssh-server")
    if shutil.which("ssh") is None:
        require("ssh is not installed; install openssh-client")
    for name in ("host_key", "key"):
        subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name), check=True)
    port, host_key = free_port(), (folder / "host_key.pub").read_text()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {host_key}")
    empty_root, made = Path("/run/sshd"), not Path("/run/sshd").exists()
    empty_root.mkdir(exist_ok=True)  # sshd requires it; a service's unit creates it
    settings = ["UsePAM=no", "StrictModes=no", "PidFile=none", f"SetEnv=DOCKER_HOST={docker_host}"]
    settings += ["ListenAddress=127.0.0.1", f"HostKey={folder}/host_key", f"AuthorizedKeysFile={folder}/key.pub"]
    command = [sshd, "-D", "-e", "-f", "/dev/null", "-p", str(port), *(f"-o{setting}" for setting in settings)]
    with (folder / "sshd.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log)
    try:
        wait_for(lambda: b"listening" in (folder / "sshd.log").read_bytes(), "sshd to listen", 20)
        yield port, f"-F /dev/null -i {folder}/key -o IdentitiesOnly=yes -o UserKnownHostsFile={folder}/known_hosts"
    finally:
        process.terminate()
        process.wait()
        if made:
            empty_root.rmdir()


@contextmanager
def acting_as(user: str, *groups: str) -> Iterator[None]:
    """Run the process as another user with these supplementary groups until the block ends."""
    entry, before = pwd.getpwnam(user), os.getgroups()
    os.setgroups([grp.getgrnam(group).gr_gid for group in groups])
    os.setegid(entry.pw_gid)
    os.seteuid(entry.pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(before)
