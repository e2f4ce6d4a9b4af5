"""Finds the Nomad Autoscaler: the one on PATH, else one built with Go from the version pinned in go.mod."""

import shutil
from pathlib import Path
from typing import Final

from tools.golang import build_once

VERSION: Final = "0.5.0"
"""What go.mod requires; part of the built file's name, so that another version is built anew."""
CACHE: Final = Path(__file__).resolve().parents[2] / ".cache" / "nomad-autoscaler"
_MODULE: Final = Path(__file__).resolve().parent
_GO: Final = (1, 25, 10)


def nomad_autoscaler_binary() -> Path:
    """Where `nomad-autoscaler` is; built when it is not on PATH, which takes minutes. Raises GoFailed."""
    if on_path := shutil.which("nomad-autoscaler"):
        return Path(on_path)
    built = CACHE / f"nomad-autoscaler-{VERSION}"
    return build_once(built, _MODULE, "github.com/hashicorp/nomad-autoscaler", _GO)
