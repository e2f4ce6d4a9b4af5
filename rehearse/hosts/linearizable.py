"""Porcupine's verdict on a history. The program in `checker/` is built with Go at its first use."""

import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, Literal

import msgspec

from tests.servers.required import require
from tools.golang import GoFailed, build_once

_MODULE: Final = Path(__file__).resolve().parent / "checker"
_CACHE: Final = Path(__file__).resolve().parents[2] / ".cache" / "checker"
_OLDEST_GO: Final = (1, 18, 0)
_SECONDS: Final = 300.0


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """A read of a target, or a write that took effect. Times are microseconds since 1970."""

    target: str
    client: int
    """The number of its client, from 0."""
    kind: Literal["scale", "look", "set"]
    """set: a write whose decision is not judged."""
    start: int = 0
    """scale: the size that it was decided from."""
    size: int
    """The size that was set or read."""
    call: int
    """The time of its request."""
    answered: int
    """The time of its effect, or of its answer."""


def not_linearizable(history: Sequence[Operation]) -> Mapping[str, str]:
    """Return target -> "illegal" and the place, if no order explains its operations, or "unknown" without a verdict.

    Skips the test if Go is not installed.
    """
    names = {"start": "from", "answered": "return"}
    given = [{names.get(name, name): value for name, value in msgspec.structs.asdict(one).items()} for one in history]
    done = subprocess.run(
        [_checker()], input=json.dumps(given), capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    verdicts: dict[str, str] = json.loads(done.stdout)
    assert verdicts.keys() == {one.target for one in history}
    return {target: verdict for target, verdict in verdicts.items() if verdict != "ok"}


@cache
def _checker() -> Path:
    """Return the program. It is built again if its source changes."""
    source = b"".join(file.read_bytes() for file in sorted(_MODULE.iterdir()))
    name = f"checker-{hashlib.sha256(source).hexdigest()[:16]}"
    try:
        return build_once(_CACHE / name, _MODULE, ".", _OLDEST_GO)
    except GoFailed as error:
        require(f"the checker of histories cannot be built: {error}; install Go (https://go.dev/dl)")
