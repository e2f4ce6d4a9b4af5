"""The one way to a document: the daemon's endpoint; where no daemon answers, the same endpoint here, on the state."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import typer

from autoscaler.cli.find_daemon import servers, state_place
from autoscaler.cli.options import Where
from autoscaler.cli.output import exit_on_error, warn
from autoscaler.cli.server import Refused, Server, ServerDown, SocketRefused
from autoscaler.errors import AutoscalerError, ServerError
from autoscaler.layout import moment
from autoscaler.times import rfc3339

if TYPE_CHECKING:  # slow: a command loads the documents that it shows, and without a daemon SQLAlchemy
    from autoscaler.document import Document
    from autoscaler.view.reads import Reads

_Document = TypeVar("_Document", bound="Document")
_T = TypeVar("_T")
_OVER_THE_SOCKET: Final = (
    "run this command on the daemon's machine, as root or a user of its control socket, with --config.file and without "
    "--server and $AUTOSCALER_SERVER"
)


@contextmanager
def asking(ctx: typer.Context, *, hosts_only: bool = False) -> Iterator["Client"]:
    """Yield the client of a command, which exits with 1 and the message when the block raises an AutoscalerError.

    `hosts_only`: as of `Client`.
    """
    with exit_on_error(), ExitStack() as closing:
        yield Client(ctx.obj, closing, hosts_only=hosts_only)


class Client:
    """Asks the daemon. Every method raises AutoscalerError.

    Once no daemon has answered, all further documents come from the state.
    """

    def __init__(self, where: Where, closing: ExitStack, *, hosts_only: bool = False) -> None:
        """Raises as `servers`. `hosts_only`: the command reads only the daemons that share a state; SQLite has none."""
        self._where, self._closing, self._hosts_only = where, closing, hosts_only
        self._servers = list(servers(where))
        self._reads: Reads | None = None
        self._last_cycle: datetime | None = None

    @property
    def is_from_state(self) -> bool:
        """Return whether no daemon has answered, so that documents come from the state."""
        return self._reads is not None

    @property
    def known_until(self) -> datetime:
        """Return the time to which the documents so far belong: of the state's last cycle, or now with a daemon."""
        return self._last_cycle or datetime.now(UTC)

    def get(
        self, kind: type[_Document], path: str, of: str = "", /, **parameters: str | int | datetime | None
    ) -> _Document:
        """Return the answer of one of the API's operations. `of` replaces `{name}` in its path."""
        given: dict[str, Any] = {
            key: rfc3339(value) if isinstance(value, datetime) else value
            for key, value in parameters.items()
            if value is not None
        }
        if self._reads is None:
            try:
                return self._send(lambda server: server.get(kind, path, of, **given), changes=False)
            except ServerDown as down:
                self._reads = self._open(down)
        return cast("_Document", self._reads.answer(path, of, given))

    def change(self, request: Callable[[Server], _T]) -> _T:
        """Return the daemon's answer to a request that changes something, such as `Server.order`."""
        try:
            return self._send(request, changes=True)
        except ServerDown as down:
            raise ServerError(f"{down}, and only a daemon can do this; start it, or {self._name_it}") from None

    def _send(self, request: Callable[[Server], _T], *, changes: bool) -> _T:
        """Send a request to the first daemon that listens. Raises ServerDown if none does."""
        down = list[str]()
        refused: SocketRefused | None = None
        for server in self._servers:
            try:
                answer = request(server)
            except ServerDown as error:
                down.append(error.place)
            except SocketRefused as error:
                if changes:
                    raise
                refused = error
            except Refused as error:
                raise (Refused(f"{error}, or {_OVER_THE_SOCKET}") if changes else error) from None
            else:
                self._servers = [server]
                return answer
        if refused is not None:
            raise refused
        where = f"answers at {' or '.join(down)}" if down else f"that runs {self._where.config_file} answers"
        raise ServerDown(f"no daemon {where}")

    @property
    def _name_it(self) -> str:
        """Return how another daemon is named, but for an option that was given in vain."""
        option = "--config.file, " if self._where.config_file is None else ""
        return f"name it with {option}--server or $AUTOSCALER_SERVER"

    def _open(self, down: ServerDown) -> "Reads":
        """Return the endpoints on the state, and say so."""
        from autoscaler.clock import SystemClock  # noqa: PLC0415 - see TYPE_CHECKING above
        from autoscaler.record.archive import Archive  # noqa: PLC0415 - likewise
        from autoscaler.view.reads import Reads  # noqa: PLC0415 - likewise

        if self._where.server is not None and not self._servers[0].is_this_machine:
            raise ServerDown(f"{down}; start it there, or {self._name_it}")
        url, folder, settings = state_place(self._where.config_file)
        try:
            archive = self._closing.enter_context(Archive.open_archive(url, folder))
        except AutoscalerError as error:
            raise ServerDown(f"{down}. If it runs, {self._name_it}. Its state cannot be read: {error}") from None
        said = str(down)
        if not self._hosts_only or archive.daemons() is not None:
            place = "the database of state.url" if url is not None else folder
            self._last_cycle = archive.last_cycle()
            of = "" if self._last_cycle is None else f", of {moment(self._last_cycle, datetime.now(UTC))}"
            said += f"; this is the last known state{of}, in {place}"
        warn([f"{said}. If it runs, {self._name_it}"])
        return Reads(archive, lambda: settings, SystemClock())
