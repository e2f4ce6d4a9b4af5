"""A real PostgreSQL, as a context manager."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.ports import free_port
from tests.servers.required import require


@dataclass(frozen=True, slots=True)
class PostgreSQL:
    """One that runs."""

    port: int
    _data: Path
    _control: str
    _user: str | None

    @property
    def url(self) -> str:
        """`postgresql://…` without a database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}"

    def restart(self, mode: str = "fast") -> None:
        """`mode`: "fast" ends connections in order; "immediate" is as a crash."""
        self._run("-m", mode, "restart")

    def _run(self, *arguments: str | Path) -> None:
        _run([self._control, "-D", self._data, "-w", *arguments], self._data.parent, self._user)


@contextmanager
def running_postgresql() -> Iterator[str]:
    """The address of a fresh server, `postgresql://…` without a database; it is stopped and removed at the end."""
    with postgresql_server() as server:
        yield server.url


@contextmanager
def postgresql_server() -> Iterator[PostgreSQL]:
    """A fresh server; it is stopped and removed at the end."""
    user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
    initdb, control = _program("initdb"), _program("pg_ctl")
    # not pytest's own folder: that one is closed to the user postgres
    folder = Path(tempfile.mkdtemp(prefix="autoscaler-postgresql-"))
    try:
        if user is not None:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        server = PostgreSQL(free_port(), folder / "data", control, user)
        _run([initdb, "-D", folder / "data", "-A", "trust", "-U", "postgres", "--no-sync"], folder, user)
        # what is written outlives the server's own end, and no test cuts the power
        options = f"-c fsync=off -c full_page_writes=off -c listen_addresses=127.0.0.1 -p {server.port} -k {folder}"
        server._run("-o", options, "-l", folder / "log", "start")
        try:
            yield server
        finally:
            server._run("-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def _program(name: str) -> str:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    program = str(found[-1]) if found else shutil.which(name)
    return program or require(f"{name} is not installed (apt-get install postgresql)")


def _run(command: list[str | Path], folder: Path, user: str | None) -> None:
    with (folder / "output").open("ab") as output:  # a pipe would be inherited by the server and never end
        done = subprocess.run(command, cwd=folder, user=user, stdout=output, stderr=output, timeout=60, check=False)
    assert done.returncode == 0, (folder / "output").read_text()
