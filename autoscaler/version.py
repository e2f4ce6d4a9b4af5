"""The version of this program: pyproject.toml's, as it was installed."""

from importlib.metadata import version
from typing import Final

DISTRIBUTION: Final = "prometheus-autoscaler"
VERSION: Final = version(DISTRIBUTION)
USER_AGENT: Final = f"{DISTRIBUTION}/{VERSION}"
"""What servers are told who asks."""
