"""The daemon as it is installed, for its memory: without what only developers have.

Libraries look for others that they can do without (structlog for rich, requests for chardet) and load what they find.
"""

import re
from collections.abc import Sequence
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Final

_LOCK: Final = Path(__file__).resolve().parents[1] / "requirements.lock"


def program() -> Sequence[str]:
    """Return the program that runs instead of `-m autoscaler`: it cannot import what requirements.lock lacks."""
    installed = {_normal(name) for name in re.findall(r"^([\w.-]+)==", _LOCK.read_text(), re.MULTILINE)}
    installed |= {"prometheus-autoscaler"}
    absent = [
        module
        for module, distributions in packages_distributions().items()
        if installed.isdisjoint(map(_normal, distributions))
    ]
    hide = f"import sys; sys.modules.update(dict.fromkeys({sorted(absent)!r}))"  # None: its import fails (importlib)
    return "-c", f"{hide}; from autoscaler.__main__ import main; main()"


def _normal(name: str) -> str:
    """Return a distribution's name as package indexes compare it (packaging.python.org, "Names and normalization")."""
    return re.sub(r"[-_.]+", "-", name).lower()
