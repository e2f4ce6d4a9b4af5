"""What the settings of authentication name: secrets in files."""

from pathlib import Path

from autoscaler.errors import MetricError
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
