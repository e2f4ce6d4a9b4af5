"""The page's routes, which render documents as HTML."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from hashlib import sha256
from mimetypes import guess_type
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from autoscaler.errors import StateError
from autoscaler.logger import Logger
from autoscaler.record.values import Cut
from autoscaler.service import CONTROL_SOCKET
from autoscaler.times import last_time
from autoscaler.view.parameters import ExplainParameters, HistoryParameters
from autoscaler.view.reads import NoDecision, Reads
from autoscaler.view.summary import summaries
from autoscaler.web.api.answers import refusal_of
from autoscaler.web.page.listing import ListQuery, Order, entries, listing
from autoscaler.web.sources import Sources

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE: Final = Path(__file__).parent
RANGES: Final = {
    "5m": timedelta(minutes=5),
    "15m": timedelta(minutes=15),
    "1h": timedelta(hours=1),
    "6h": timedelta(hours=6),
    "24h": timedelta(days=1),
    "7d": timedelta(days=7),
}
"""The charts' ranges."""
_DEFAULT_RANGE: Final = "1h"
_TABLE_ROWS: Final = 60
"""Rows of the table beside the charts."""
_REFRESH: Final = "HX-Request"
"""Header of the page's automatic refresh, which leaves out the table over days: it is read from the state once."""
_TIME_FORMS: Final = "10m (ago), 14:30 or 2026-01-31T14:30 (UTC)"


def pages(sources: Sources, logger: Logger, control: Path) -> Sequence[BaseRoute]:
    """Return the page's routes for the server's application. `control`: the control socket, for commands it shows."""
    page = _Page(sources, logger, control)
    return (
        Route("/", page.handler(page.overview)),
        Route("/autoscalers/{name}", page.handler(page.autoscaler)),
        Route("/status", page.handler(page.status)),
        Route("/static/{path:path}", _StaticFiles(_HERE / "static").answer),
    )


class _StaticFiles:
    """Files of this package, kept in memory so that a slow client holds no file open.

    Browsers cache them and revalidate each time.
    """

    def __init__(self, folder: Path) -> None:
        self._files = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    async def answer(self, request: Request) -> Response:
        """Answer 200 with the file, or 304 when the browser has it."""
        path: str = request.path_params["path"]
        body = self._files.get(path)
        if body is None:
            raise HTTPException(404)
        headers = {"Cache-Control": "no-cache", "ETag": f'"{sha256(body).hexdigest()[:32]}"'}
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(body, media_type=guess_type(path)[0], headers=headers)


class _Page:
    """The handlers. Each makes one page on a thread."""

    def __init__(self, sources: Sources, logger: Logger, control: Path) -> None:
        self._sources = sources
        self._logger = logger
        self._control = control
        self._work = sources.work
        self._reads = sources.reads()

    @cached_property
    def _templates(self) -> "Environment":
        from autoscaler.web.page.environment import environment  # noqa: PLC0415 - 2 MiB, for who looks at the page

        return environment()

    def handler(self, make: Callable[[Request, datetime], str]) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler that answers with the result of `make`, or with an error page."""

        async def handle(request: Request) -> Response:
            now = self._sources.clock.now()
            try:
                return HTMLResponse(await self._work.run(partial(make, request, now)))
            except Exception as error:  # noqa: BLE001 - see `refusal_of`
                refusal = refusal_of(error, request.url.path, self._logger)
                page = self._render("failed.html", now, message=str(refusal))
                return HTMLResponse(page, refusal.kind.status, refusal.headers)

        return handle

    def overview(self, request: Request, now: datetime) -> str:
        """Return the list of all autoscalers."""
        scalers = {scaler.name: scaler for scaler in self._sources.settings().autoscalers}
        archive = self._sources.state.archive
        latest, steering = archive.latest(), {name: given.at(now) for name, given in archive.steering().items()}
        found = listing(entries(scalers, latest, steering), ListQuery.model_validate(dict(request.query_params)))
        names = [each.name for each in found.entries]
        rows = summaries(names, scalers, latest, steering, now)
        return self._render(
            "overview.html", now, listing=found, rows=rows, orders=Order, cuts=self._cuts(), led=archive.is_led()
        )

    def status(self, request: Request, now: datetime) -> str:  # noqa: ARG002 - every handler's signature
        """Return the page of the daemon and its dependencies."""
        sharing = None
        if not self._sources.status().lease_lost:  # the database may not answer, and the page says why
            with suppress(StateError):
                sharing = self._reads.list_hosts()
        found = self._sources.discovered()
        return self._render("status.html", now, day=timedelta(days=1), sharing=sharing, discovered=found)

    def autoscaler(self, request: Request, now: datetime) -> str:
        """Return the page of one autoscaler: charts, explanation, and forms for pause and override."""
        name: str = request.path_params["name"]
        shown = request.query_params.get("range", "")
        shown = shown if shown in RANGES else _DEFAULT_RANGE
        skips_table = _REFRESH in request.headers and RANGES[shown] > RANGES[_DEFAULT_RANGE]
        detail = self._reads.get_autoscaler(name)
        times = HistoryParameters(since=now - RANGES[shown], until=now, points=_TABLE_ROWS)
        return self._render(
            "autoscaler.html",
            now,
            detail=detail,
            of=detail.summary,
            ranges=tuple(RANGES),
            range=shown,
            range_seconds=round(RANGES[shown].total_seconds()),
            history=None if skips_table else self._reads.get_history(name, times),
            **_explained(self._reads, name, request.query_params.get("at", ""), now),
            user=request.scope["user"],
            may_change=request.scope["may_change"],
            pause_command=self._pause_command(name),
            cuts=self._cuts(),
        )

    def _pause_command(self, name: str) -> str:
        """Return the command that pauses an autoscaler of this daemon. A command finds the service by itself."""
        words = ["autoscaler", "pause", name]
        if self._control != CONTROL_SOCKET:
            words.append(f"--config.file={self._sources.settings().path.absolute()}")
        return join(words)

    def _cuts(self) -> Sequence[Cut]:
        """Return what the state has deleted because it had grown too large."""
        return self._sources.state.archive.cuts()

    def _render(self, template: str, now: datetime, **values: Any) -> str:
        return self._templates.get_template(template).render(now=now, status=self._sources.status(), **values)


def _explained(reads: Reads, name: str, at: str, now: datetime) -> dict[str, Any]:
    """Return the template's values: the decision to explain, the time asked about, and why there is no decision."""
    found: dict[str, Any] = {"asked": None, "explanation": None, "unexplained": ""}
    try:
        found["asked"] = last_time(at, now, UTC) if at else None
    except ValueError as error:
        return found | {"unexplained": f"{error}; expected {_TIME_FORMS}"}
    try:
        return found | {"explanation": reads.explain_autoscaler(name, ExplainParameters(at=found["asked"]))}
    except NoDecision as error:
        return found | {"unexplained": str(error)}
