"""A certificate authority with certificates for `dockerd --tlsverify` and its clients."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


def make_certificates(folder: Path) -> Path:
    """Write ca.pem, server-cert.pem, server-key.pem (for 127.0.0.1), cert.pem and key.pem (a client's) to `folder`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
    constraints = x509.BasicConstraints(ca=True, path_length=0)
    authority = _builder(name, name, key).add_extension(constraints, critical=True).sign(key, hashes.SHA256())
    _write(folder / "ca.pem", authority)
    uses = {"server-": ExtendedKeyUsageOID.SERVER_AUTH, "": ExtendedKeyUsageOID.CLIENT_AUTH}
    for prefix, use in uses.items():
        own = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"test {prefix}")])
        address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        builder = _builder(subject, name, own).add_extension(x509.ExtendedKeyUsage([use]), critical=False)
        signed = builder.add_extension(address, critical=False).sign(key, hashes.SHA256())
        _write(folder / f"{prefix}cert.pem", signed)
        pem = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        (folder / f"{prefix}key.pem").write_bytes(own.private_bytes(*pem))
    return folder


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
    return builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))


def _write(path: Path, certificate: x509.Certificate) -> None:
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
