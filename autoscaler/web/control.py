"""The control socket: a Unix socket for the operators of this machine. Its folder's permissions restrict access.

The kernel identifies the peer (SO_PEERCRED), so there are no credentials. A browser cannot connect to it, so cross-site
requests need no check. The endpoints are those of TCP.
"""

import os
import pwd
import socket
import stat
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from autoscaler.config.control_socket import check_length
from autoscaler.errors import ListenError
from autoscaler.web.api.answers import ErrorType, RequestError
from autoscaler.web.work import on_thread

BACKLOG: Final = 1024
"""Clients that wait in the kernel to be accepted. A Unix socket refuses more."""
MAX_CONNECTIONS: Final = 64
"""Concurrent connections."""
_MODE: Final = 0o660


class ControlSocket:
    """The socket in the file system. `close` removes it."""

    def __init__(self, path: Path) -> None:
        """Binds the path without answering yet. Creates the path's last folder if it is missing.

        Raises ListenError.
        """
        self.path = path
        try:
            check_length(path)
            _refuse_taken(path)
            if not path.parent.exists():
                path.parent.mkdir(mode=0o700)
            path.unlink(missing_ok=True)
            self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        except ValueError as error:
            raise _failed(path, str(error)) from None
        except OSError as error:
            raise _failed(path, error.strerror or str(error)) from None
        try:
            self.listening.bind(os.fspath(path))
            path.chmod(_MODE)
            self.listening.listen(BACKLOG)
            self._identity = _identity(path)
            self._folder_group = path.parent.stat().st_gid
        except OSError as error:
            self.listening.close()
            raise _failed(path, error.strerror or str(error)) from None

    def refuses(self, uid: int) -> bool:
        """Return whether a peer is a process of the daemon's own user, such as a pool's worker, and not an operator.

        When the folder's group is the daemon's own, only its user and root are operators.
        """
        return uid == os.geteuid() != 0 and self._folder_group != os.getegid()

    async def operator(self, uid: int) -> str:
        """Return the name of a peer. Raises RequestError for one that it refuses, or if no thread can be started."""
        if self.refuses(uid):
            message = (
                "the control socket is for operators: processes of the daemon's own user, such as a pool's workers, "
                "may not use it"
            )
            raise RequestError(ErrorType.FORBIDDEN, message)
        return await on_thread(partial(_name, uid))  # a directory service may be slow

    def close(self) -> None:
        """Close the socket. Remove it unless another socket has replaced it."""
        self.listening.close()
        with suppress(OSError):
            if _identity(self.path) == self._identity:
                self.path.unlink()


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # an arbitrary uid in a container
        return f"uid {uid}"


def _identity(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_dev, found.st_ino


def _refuse_taken(path: Path) -> None:
    """Raise ListenError when a daemon listens at the path or it is not a socket."""
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        raise _failed(path, "something that is not a socket is at this path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            return  # a killed daemon left it behind
        except BlockingIOError:
            pass  # it listens; its backlog is full
    raise _failed(path, "another daemon uses it")


def _failed(path: Path, cause: str) -> ListenError:
    return ListenError(f"the control socket {path} cannot be used: {cause}; set web.controlSocket to another path")
