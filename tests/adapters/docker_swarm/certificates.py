"""A certificate authority with certificates for `dockerd --tlsverify` and its clients."""

from pathlib import Path

from tests.servers.certificates import Authority


def make_certificates(folder: Path) -> Path:
    """Write ca.pem, server-cert.pem, server-key.pem (for 127.0.0.1), cert.pem and key.pem (a client's) to `folder`."""
    authority = Authority(folder)
    for prefix in ("server-", ""):
        pair = authority.sign(f"{prefix}signed", "127.0.0.1")
        pair.cert.rename(folder / f"{prefix}cert.pem")
        pair.key.rename(folder / f"{prefix}key.pem")
    return folder
