"""Reads the text of a configuration file: UTF-8, of limited size."""

import errno
from pathlib import Path
from typing import Final, NoReturn

from autoscaler.errors import ConfigError, Problem
from autoscaler.net.files import read_bounded

MAX_BYTES: Final = 16 * 2**20
"""Ten thousand autoscalers take about 5 MiB."""

_PACKED: Final = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
}
"""The first bytes of a packed file, and what has packed it."""
_UTF16_OR_32: Final = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


def read(path: Path) -> str:
    """Return the file's text without a byte order mark. Raises ConfigError with one problem if it cannot be read."""
    return decoded(path, _read_bytes(path))


def decoded(path: Path, raw: bytes) -> str:
    """Return the text of a file with this content. Raises ConfigError with one problem if it is not UTF-8."""
    for begin, packer in _PACKED.items():
        if raw.startswith(begin) and not raw[:64].isascii():
            _refuse(path, f"is packed by {packer}; unpack it")
    if raw.startswith(_UTF16_OR_32) or b"\0" in raw[:4]:
        _refuse(path, "is not UTF-8 but UTF-16 or UTF-32; save it as UTF-8")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8-sig", errors="replace")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = f"byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise ConfigError([Problem(str(path), line, column, "", message)]) from None


def _read_bytes(path: Path) -> bytes:
    try:
        return read_bounded(path, MAX_BYTES)
    except IsADirectoryError:
        _refuse(path, "is a directory; name the file in it")
    except OSError as error:
        if error.errno == errno.EFBIG:
            _refuse(path, f"is larger than {MAX_BYTES // 2**20} MiB; split it among several daemons")
        if error.errno == errno.EINVAL:
            _refuse(path, "is not a regular file; name one, or pass a command's output as <(…)")
        remedy = "check the path" if isinstance(error, FileNotFoundError) else "check its permissions and the path"
        _refuse(path, f"cannot be read: {error.strerror or error}; {remedy}")
    except ValueError:  # a NUL in the name
        _refuse(path, "is not a valid file name; check the path")


def _refuse(path: Path, message: str) -> NoReturn:
    raise ConfigError([Problem(str(path), 1, 1, "", f"the file {message}")]) from None
