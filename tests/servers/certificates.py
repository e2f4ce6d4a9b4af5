"""A certificate authority for TLS tests."""

import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_LIFE: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as PEM files."""

    cert: Path
    key: Path

    def server_context(self) -> ssl.SSLContext:
        """Return the context of a server with this certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert, self.key)
        return context


class Authority:
    """Signs certificates into a folder; `ca` is its own certificate's file."""

    def __init__(self, folder: Path, name: str = "test authority") -> None:
        self._folder = folder
        self._name = _name(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
        identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())  # Python 3.13 wants one
        builder = _builder(self._name, self._name, self._key.public_key()).add_extension(constraints, critical=True)
        builder = builder.add_extension(usage, critical=True).add_extension(identifier, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        self.ca = folder / "ca.pem"
        self.ca.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def sign(self, file: str, *names: str) -> Pair:
        """Return a certificate for these DNS names and addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(names[0]), self._name, key.public_key())
        alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(alternatives, critical=False).add_extension(issuer, critical=False)
        pair = Pair(self._folder / f"{file}.pem", self._folder / f"{file}.key")
        pair.cert.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        pair.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return pair


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number(), now - _LIFE, now + _LIFE)
