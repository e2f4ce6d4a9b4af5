"""The daemon with TLS and users, which some cases need. A daemon reads the list of users at its start."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import bcrypt

from rehearse.hostile.daemon import Access
from rehearse.hostile.measure import Bounds
from rehearse.hostile.world import World, world
from tests.servers.certificates import Authority

OPERATOR: Final = ("ann", "correct horse")
_ROUNDS: Final = 10
"""Hashes of bcrypt, as `htpasswd -nBC 10` makes them."""


@contextmanager
def guarded_world(folder: Path, period_seconds: float, bounds: Bounds, moves: int = 2) -> Iterator[World]:
    """Run a world whose daemon has TLS and an operator."""
    authority = Authority(folder)
    pair = authority.sign("server", "127.0.0.1")
    name, password = OPERATOR
    users = f"  {name}: {bcrypt.hashpw(password.encode(), bcrypt.gensalt(_ROUNDS)).decode()}\n"
    file = folder / "web.yaml"
    file.write_text(f"tls_server_config:\n  cert_file: {pair.cert}\n  key_file: {pair.key}\nbasic_auth_users:\n{users}")
    access = Access((f"--web.config.file={file}",), {"operators": [OPERATOR[0]]}, OPERATOR, authority.ca)
    with world(folder, period_seconds, bounds, moves=moves, access=access) as found:
        yield found
