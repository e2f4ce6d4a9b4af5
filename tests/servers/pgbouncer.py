"""A real PgBouncer before a PostgreSQL, as a context manager."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import make_url

from tests.servers.ports import free_port
from tests.servers.required import require

_CONFIGURATION = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own}
unix_socket_dir =
auth_type = trust
auth_file = {users}
pool_mode = {mode}
default_pool_size = 90
ignore_startup_parameters = options
"""


@contextmanager
def running_pgbouncer(state_url: str, folder: Path, mode: str = "session") -> Iterator[str]:
    """Run a pooler that drops the options of a connection.

    Yields the state's address through it. `mode`: its pool_mode.
    """
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
    program = shutil.which("pgbouncer", path=path) or require("pgbouncer is not installed (apt-get install pgbouncer)")
    url, own = make_url(state_url), free_port()
    user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
    users, configuration = folder / "users.txt", folder / "pgbouncer.ini"
    users.write_text(f'"{url.username}" ""\n')
    configuration.write_text(_CONFIGURATION.format(host=url.host, port=url.port, own=own, users=users, mode=mode))
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen([program, configuration], cwd="/", user=user, stdout=output, stderr=output)
        try:
            _wait(process, own, folder / "output")
            yield url.set(host="127.0.0.1", port=own).render_as_string(hide_password=False)
        finally:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, output: Path) -> None:
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise AssertionError(output.read_text())
