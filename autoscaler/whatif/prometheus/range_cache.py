"""Answers to range queries on disk: a fetch that was broken off goes on where it was, and a second one is short."""

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
"""Of a file's content."""
_SUFFIX: Final = ".range"
_LARGEST: Final = 2**28
"""Bytes of a file, and of what it holds once unpacked."""
_UNUSED: Final = timedelta(days=30)
"""After which a file is removed."""


def cache_folder(environment: Mapping[str, str]) -> Path:
    """$XDG_CACHE_HOME/autoscaler, else ~/.cache/autoscaler."""
    return Path(environment.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "autoscaler"


class RangeCache:
    """A folder of answers, one file each, for this user alone. Any number of processes may use it."""

    def __init__(self, folder: Path, sources: Mapping[str, PrometheusSource], clock: Clock) -> None:
        """Makes the folder, and removes files that were unused for a month. Raises PastError."""
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
        """The answer; None: it is not here, or its file is damaged."""
        path = self._path(question, grid)
        try:
            unpacked = zlib.decompressobj().decompress(read_bounded(path, _LARGEST), _LARGEST)
            result = msgspec.msgpack.decode(unpacked, type=RangeResult)
        except (OSError, zlib.error, msgspec.MsgspecError):
            return None
        with suppress(OSError):  # it stays useful, even where we may only read
            path.touch()
        return result

    def save(self, question: Question, grid: Grid, result: RangeResult) -> None:
        """Keep an answer. Raises PastError."""
        payload = zlib.compress(msgspec.msgpack.encode(result), 1)  # with a checksum
        try:
            write_atomically(self._path(question, grid), payload, durable=False)
        except OSError as error:
            raise _unusable(self._folder, error) from None

    def _path(self, question: Question, grid: Grid) -> Path:
        """By all that the answer depends on. A hash alone: a file's name does not tell what was asked."""
        told = (
            _FORMAT, sys.byteorder, self._identities[question.prometheus], question.expr,
            grid.step, grid.phase, grid.first, grid.count,
        )  # fmt: skip
        return self._folder / f"{hashlib.sha256(msgspec.msgpack.encode(told)).hexdigest()}{_SUFFIX}"


def _identity(source: PrometheusSource) -> tuple[object, ...]:
    """Whose answers they are: a header or a parameter may name a tenant, and a login what may be seen."""
    user = source.basic_auth and source.basic_auth.username
    token = str(source.bearer_token_file or "")
    return source.url, sorted(source.params.items()), sorted(source.headers.items()), user, token


def _unusable(folder: Path, error: OSError) -> PastError:
    return PastError(f"{folder}: what is fetched cannot be kept there: {error.strerror}; give --cache another folder")
