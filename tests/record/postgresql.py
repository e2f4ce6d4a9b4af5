"""A real PostgreSQL, as a context manager."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.ports import free_port
from tests.servers.required import require


@contextmanager
def running_postgresql() -> Iterator[str]:
    """The address of a fresh server, `postgresql://…` without a database; it is stopped and removed at the end."""
    user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
    initdb, control = _program("initdb"), _program("pg_ctl")
    # not pytest's own folder: that one is closed to the user postgres
    folder = Path(tempfile.mkdtemp(prefix="autoscaler-postgresql-"))
    try:
        if user is not None:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        data, port = folder / "data", free_port()
        _run([initdb, "-D", data, "-A", "trust", "-U", "postgres", "--no-sync"], folder, user)
        # what is written outlives the server's own end, and no test cuts the power
        options = f"-c fsync=off -c full_page_writes=off -c listen_addresses=127.0.0.1 -p {port} -k {folder}"
        _run([control, "-D", data, "-o", options, "-l", folder / "log", "-w", "start"], folder, user)
        try:
            yield f"postgresql://postgres@127.0.0.1:{port}"
        finally:
            _run([control, "-D", data, "-m", "immediate", "-w", "stop"], folder, user)
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
