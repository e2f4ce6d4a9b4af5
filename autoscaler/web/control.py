"""The control socket: a Unix socket for the operators of this machine. Its folder says who reaches it.

The kernel says who asks (SO_PEERCRED), so there are no credentials, and a browser cannot connect to it, so there is no
page of another site to refuse. The requests are those of TCP.
"""

import os
import pwd
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
from starlette.types import ASGIApp, Receive, Scope, Send

from autoscaler.config.control_socket import check_length
from autoscaler.errors import ListenError
from autoscaler.web.api.answers import ErrorType, failure
from autoscaler.web.connections import BACKLOG

MOST_CONNECTIONS: Final = 64
"""At once."""
_MODE: Final = 0o660


class ControlSocket:
    """The socket in the file system. `close` removes it."""

    def __init__(self, path: Path) -> None:
        """Takes the path, and answers nothing yet. Makes the path's last folder where there is none.

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
        """Whether a peer is a process of the daemon's own user, such as a pool's worker, that is no operator.

        Where the folder's group is the daemon's own, its user is the only operator beside root.
        """
        return uid == os.geteuid() != 0 and self._folder_group != os.getegid()

    def close(self) -> None:
        """Close the socket, and remove it unless another one has taken its place."""
        self.listening.close()
        with suppress(OSError):
            if _identity(self.path) == self._identity:
                self.path.unlink()


class ControlGuard:
    """ASGI middleware: `scope["user"]` is the peer's name, as `Guard` sets it."""

    def __init__(self, app: ASGIApp, control: ControlSocket) -> None:
        self._app = app
        self._control = control

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if self._control.refuses(scope["state"]["peer"]):
            message = (
                "the control socket is for operators: processes of the daemon's own user, such as a pool's workers, "
                "may not use it"
            )
            await failure(ErrorType.FORBIDDEN, message)(scope, receive, send)
            return
        scope["user"] = await anyio.to_thread.run_sync(_name, scope["state"]["peer"])  # a directory service may be slow
        scope["change_refused"] = ""
        await self._app(scope, receive, send)


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # a container's made-up user
        return f"uid {uid}"


def _identity(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_dev, found.st_ino


def _refuse_taken(path: Path) -> None:
    """Raises ListenError for a path that a daemon listens on, or at which something else is than a socket."""
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
            return  # left behind by a daemon that was killed
        except BlockingIOError:
            pass  # it listens, and has no room
    raise _failed(path, "another daemon uses it")


def _failed(path: Path, cause: str) -> ListenError:
    return ListenError(f"the control socket {path} cannot be used: {cause}; set web.controlSocket to another path")
