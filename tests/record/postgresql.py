"""A real PostgreSQL, as a context manager."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from sqlalchemy import create_engine, text

from tests.servers.ports import free_port
from tests.servers.required import require


class Server:
    """A server in a folder of its own."""

    def __init__(self, folder: Path, user: str | None, *settings: str) -> None:
        """`settings`: as `full_page_writes=on`, in place of the tests' own."""
        self.folder, self.port = folder, free_port()
        self._user, self._settings = user, settings
        self._data = folder / "data"

    @property
    def address(self) -> str:
        """`postgresql://…` without a database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}"

    @property
    def pids(self) -> Sequence[int]:
        """Return the pids of its processes, the main one first. Raises FileNotFoundError if it does not run."""
        first = int((self._data / "postmaster.pid").read_text().split()[0])
        return (first, *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split()))

    def create(self) -> None:
        """Create an empty server."""
        self._run([_program("initdb"), "-D", self._data, "-A", "trust", "-U", "postgres", "--no-sync"])

    def start(self) -> None:
        """Start it at its port."""
        # what is written outlives the server's own end, and no test cuts the power
        options = (
            f"-c fsync=off -c full_page_writes=off -c listen_addresses=127.0.0.1 -p {self.port} -k {self.folder} "
            "-c wal_level=replica -c hot_standby=on"
        )
        options += "".join(f" -c {each}" for each in self._settings)
        self._control(["-o", options, "-l", self.folder / "log", "-w", "start"])

    def stop(self) -> None:
        """Stop it as if its machine failed."""
        self._control(["-m", "immediate", "-w", "stop"])

    def restart(self, mode: str) -> None:
        """`mode`: "fast" ends its connections in order, "immediate" resembles a crash."""
        self._control(["-m", mode, "-w", "restart"])

    def standby(self) -> "Server":
        """Start another server, which follows this one asynchronously."""
        standby = Server(_folder(self._user), self._user)
        source = f"{self.address}/postgres"
        options = ["-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", source]
        standby._run([_program("pg_basebackup"), "-D", standby._data, *options])
        standby.start()
        return standby

    def wait_for(self, primary: "Server") -> None:
        """Wait until everything that is committed there has arrived here."""
        there = self._ask(primary, "SELECT pg_current_wal_lsn()")
        while self._ask(self, f"SELECT pg_last_wal_replay_lsn() >= '{there}'") != "t":
            pass

    def stop_following(self) -> None:
        """Make a running standby receive nothing more, without an error."""
        for change in ("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()"):
            self._ask(self, change)
        while self._ask(self, "SELECT count(*) FROM pg_stat_wal_receiver") != "0":
            pass

    def promote_here(self) -> None:
        """Promote a running standby."""
        self._control(["-w", "promote"])

    def remove(self) -> None:
        """Stop it if it runs, and remove its files."""
        if (self._data / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder)

    def promote(self, port: int) -> None:
        """Promote a stopped standby, which then listens on this port."""
        self.port = port
        self.start()
        self.promote_here()

    def _ask(self, server: "Server", query: str) -> str:
        command = [_program("psql"), "-At", "-c", query, f"{server.address}/postgres"]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout.strip()

    def _control(self, arguments: list[str | Path]) -> None:
        self._run([_program("pg_ctl"), "-D", self._data, *arguments])

    def _run(self, command: list[str | Path]) -> None:
        _run(command, self.folder, self._user)


def _folder(user: str | None) -> Path:
    # not pytest's own folder: that one is closed to the user postgres
    folder = Path(tempfile.mkdtemp(prefix="autoscaler-postgresql-"))
    if user is not None:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    return folder


@contextmanager
def running_server(*settings: str) -> Iterator[Server]:
    """Yield a fresh server with these settings, which is stopped and removed at the end."""
    user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
    server = Server(_folder(user), user, *settings)
    try:
        server.create()
        server.start()
        yield server
    finally:
        server.remove()


@contextmanager
def running_postgresql() -> Iterator[str]:
    """Yield the address of a fresh server, `postgresql://…` without a database.

    It is stopped and removed at the end.
    """
    with running_server() as server:
        yield server.address


def _program(name: str) -> str:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    program = str(found[-1]) if found else shutil.which(name)
    return program or require(f"{name} is not installed (apt-get install postgresql)")


def _run(command: list[str | Path], folder: Path, user: str | None) -> None:
    with (folder / "output").open("ab") as output:  # the server would inherit a pipe, which would never end
        done = subprocess.run(command, cwd=folder, user=user, stdout=output, stderr=output, timeout=300, check=False)
    said = [file.read_text() for name in ("output", "log") if (file := folder / name).exists()]
    assert done.returncode == 0, "\n".join(said)


def empty_state(server: str) -> str:
    """Return `state.url` of a user whose schema is empty.

    A database of its own would take a second to create and delete.
    """
    name = f"test_{uuid4().hex}"
    engine = create_engine(f"{server}/postgres".replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(text(f"CREATE ROLE {name} LOGIN"))
        connection.execute(text(f"CREATE SCHEMA AUTHORIZATION {name}"))
    engine.dispose()
    return f"{server}/postgres".replace("postgres@", f"{name}@")
