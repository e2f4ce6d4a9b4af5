"""Caches the answers to range queries on disk, so that a fetch continues where another one ended."""

import hashlib
import sys
import zlib
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

import msgspec

from autoscaler.clock import Clock
from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import PastError
from autoscaler.observe.plan import Question
from autoscaler.observe.ranges import Grid, RangeResult
from autoscaler.record.folder import make_private_folder
from autoscaler.target.files import read_bounded, write_atomically

_FORMAT: Final = 1
"""Version of the content of a file."""
_SUFFIX: Final = ".range"
_LARGEST: Final = 2**28
"""Bytes of a file, packed and unpacked."""
_UNUSED: Final = timedelta(days=30)
"""The time without use after which a file is removed."""


def cache_folder(environment: Mapping[str, str]) -> Path:
    """$XDG_CACHE_HOME/autoscaler, else ~/.cache/autoscaler."""
    return Path(environment.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "autoscaler"


class RangeCache:
    """A folder with a file for each answer, which only its owner can read. Any number of processes may use it."""

    def __init__(self, folder: Path, sources: Mapping[str, PrometheusSource], clock: Clock) -> None:
        """Create the folder, and remove files that were unused for a month. Raises PastError."""
        self._folder = folder
        self._identities = {name: _identity(source) for name, source in sources.items()}
        try:
            make_private_folder(folder)
            oldest = (clock.now() - _UNUSED).timestamp()
            for file in folder.glob(f"*{_SUFFIX}"):
                with suppress(FileNotFoundError):  # another process removed it
                    if file.stat().st_mtime < oldest:
                        file.unlink()
        except OSError as error:
            raise _unusable(folder, error) from None

    def load(self, question: Question, grid: Grid) -> RangeResult | None:
        """The answer; None if it is not cached or its file is damaged."""
        path = self._path(question, grid)
        try:
            unpacked = zlib.decompressobj().decompress(read_bounded(path, _LARGEST), _LARGEST)
            result = msgspec.msgpack.decode(unpacked, type=RangeResult)
        except (OSError, zlib.error, msgspec.MsgspecError):
            return None
        with suppress(OSError):  # the folder may be read-only
            path.touch()
        return result

    def save(self, question: Question, grid: Grid, result: RangeResult) -> None:
        """Cache an answer. Raises PastError."""
        payload = zlib.compress(msgspec.msgpack.encode(result), 1)  # with a checksum
        try:
            write_atomically(self._path(question, grid), payload, durable=False)
        except OSError as error:
            raise _unusable(self._folder, error) from None

    def _path(self, question: Question, grid: Grid) -> Path:
        """Its name is a hash of all that the answer depends on, so that it does not reveal the query."""
        key = (
            _FORMAT, sys.byteorder, self._identities[question.prometheus], question.expr,
            grid.step, grid.phase, grid.first, grid.count,
        )  # fmt: skip
        return self._folder / f"{hashlib.sha256(msgspec.msgpack.encode(key)).hexdigest()}{_SUFFIX}"


def _identity(source: PrometheusSource) -> tuple[object, ...]:
    """What identifies the data of a source: headers and parameters may name a tenant, and a login limits access."""
    user = source.basic_auth and source.basic_auth.username
    token = str(source.bearer_token_file or "")
    return source.url, sorted(source.params.items()), sorted(source.headers.items()), user, token


def _unusable(folder: Path, error: OSError) -> PastError:
    return PastError(f"{folder}: answers cannot be cached there: {error.strerror}; give --cache another folder")
