"""What the settings of authentication name: secrets in files, certificates."""

from pathlib import Path

from autoscaler.config.authentication import Tls as TlsSettings
from autoscaler.errors import MetricError
from autoscaler.net import Tls
from autoscaler.net.errors import words
from autoscaler.net.files import read_secret


def secret_of(file: Path, key: str) -> str:
    """Return the secret in a file. Raises MetricError that names the file, and the key that names it."""
    try:
        secret = read_secret(file)
    except OSError as error:
        raise MetricError(f"cannot be asked: {key} {file}: {words(error)}") from None
    except UnicodeDecodeError:
        secret = ""
    if not secret or not secret.isprintable():
        raise MetricError(f"cannot be asked: {key} {file} does not hold one line with the secret")
    return secret


def tls_of(settings: TlsSettings | None) -> Tls:
    """Return the settings as a session takes them."""
    tls = settings or TlsSettings()
    return Tls(tls.ca_file, tls.cert_file, tls.key_file, tls.server_name, verify=not tls.insecure_skip_verify)
