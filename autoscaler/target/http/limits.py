"""How large an answer may be, and how TLS is spoken to a peer."""

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

LARGEST_ANSWER: Final = 64 * 2**20
"""Bytes, decompressed: a list of 13,000 entries of 5 KiB.

It defends the process's memory against a peer that sends without end, not against a large cluster: an answer that is
too large would stop all scaling there until somebody raises this number. Longer lists are read page by page, or in
parts, where the peer has such.
"""


@dataclass(frozen=True, slots=True)
class Tls:
    """How the peer's certificate is checked, and what we show of ourselves."""

    ca_file: Path | None = None
    """Who signed the peer's certificate; None: the well-known authorities."""
    cert_file: Path | None = None
    """Our own certificate, read at each connection."""
    key_file: Path | None = None
    """Its key; None: it is in `cert_file`."""
    server_name: str | None = None
    """The name in the peer's certificate; None: the host of the URL."""
    verify: bool = True
    """False: any certificate is accepted."""


def in_mib(size: int) -> str:
    """A number of bytes, as `64 MiB`."""
    return f"{size / 2**20:.3g} MiB"


def on_this_machine(url: str) -> bool:
    """Whether its host is: there packing answers costs the server more than all else, and saves nothing."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
