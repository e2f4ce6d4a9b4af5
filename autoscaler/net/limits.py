"""The largest answer, and the TLS settings of a peer."""

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

MAX_ANSWER: Final = 64 * 2**20
"""Decompressed bytes; a list of 13,000 entries of 5 KiB fits.

It protects the process's memory from an endless answer and must not stop a large cluster: an answer that is too large
stops all scaling there until it is raised. Longer lists are read in pages or parts.
"""


@dataclass(frozen=True, slots=True)
class Tls:
    """How the peer's certificate is verified, and the daemon's own certificate."""

    ca_file: Path | None = None
    """The authority of the peer's certificate; None: the system's authorities."""
    cert_file: Path | None = None
    """The daemon's own certificate, read at each connection."""
    key_file: Path | None = None
    """Its key; None: in `cert_file`."""
    server_name: str | None = None
    """The name in the peer's certificate; None: the host of the URL."""
    insecure_skip_verify: bool = False
    """True: accept any certificate."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that must exist."""
        return tuple([file for file in (self.ca_file, self.cert_file, self.key_file) if file is not None])


def in_mib(size: int) -> str:
    """Return a number of bytes as `64 MiB`."""
    return f"{size / 2**20:.3g} MiB"


def on_this_machine(url: str) -> bool:
    """Return whether the URL's host is this machine: there compression costs time and saves nothing."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
