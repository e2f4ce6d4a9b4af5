"""Finds the Nomad binary: the one on PATH, else one built with Go from the versions pinned in go.mod.

`python -m tools.nomad` prints where it is.
"""

import shutil
from pathlib import Path
from typing import Final

from tools.golang import GoFailed, build_once

VERSION: Final = "1.11.3"
"""What go.mod requires; part of the built file's name, so that another version is built anew."""
CACHE: Final = Path(__file__).resolve().parents[2] / ".cache" / "nomad"
_MODULE: Final = Path(__file__).resolve().parent
_GO: Final = (1, 25, 8)
_REMEDY: Final = (
    "install Nomad (https://developer.hashicorp.com/nomad/install) so that `nomad` is on PATH, "
    f"or Go {'.'.join(map(str, _GO))} or newer (https://go.dev/dl) to build it"
)


class NomadNotFound(Exception):
    """There is no Nomad here and none could be built; the message says what to install."""


def nomad_binary(cache: Path = CACHE) -> Path:
    """Where `nomad` is; built into `cache` when it is not on PATH, which takes minutes. Raises NomadNotFound."""
    if on_path := shutil.which("nomad"):
        return Path(on_path)
    try:
        return build_once(cache / f"nomad-{VERSION}", _MODULE, "github.com/hashicorp/nomad", _GO)
    except GoFailed as error:
        raise NomadNotFound(f"nomad is not on PATH, and {error}; {_REMEDY}") from error
