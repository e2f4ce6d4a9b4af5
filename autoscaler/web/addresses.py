"""Clients' addresses, and which of them count as one client."""

import ipaddress
import socket
import struct
from typing import Final, TypeAlias

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_IPV6_HOST_BITS: Final = 64
"""The part of an IPv6 address that one client may vary (RFC 6177)."""


def client_of(host: str) -> str:
    """Return the key by which a client is counted: its IPv4 address, or the /64 network of its IPv6 address."""
    address = _parse(host)
    if address is None:
        return host
    if address.version == 6 and not address.is_loopback:
        return str(ipaddress.IPv6Address(int(address) >> _IPV6_HOST_BITS << _IPV6_HOST_BITS)) + f"/{_IPV6_HOST_BITS}"
    return str(address)


def peer_of(client: socket.socket) -> int:
    """Return the uid of the process that connected a Unix socket. Source: unix(7), SO_PEERCRED."""
    credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII"))
    _, uid, _ = struct.unpack("iII", credentials)
    return int(uid)


def _parse(host: str) -> _Address | None:
    """Parse the address. An IPv4-mapped IPv6 address becomes an IPv4 address."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
