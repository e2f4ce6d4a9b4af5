"""The ASGI application: health, metrics, the API and the page's routes."""

from collections.abc import Awaitable, Callable, Sequence
from functools import cache, partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from autoscaler.logger import Logger
from autoscaler.metrics.text import CONTENT_TYPE, exposition
from autoscaler.web.api.answers import ErrorType, RequestError, failure, refusal_of, success
from autoscaler.web.api.endpoints import PREFIX, Endpoint, endpoints
from autoscaler.web.api.openapi import openapi
from autoscaler.web.api.requests import body_of, query_of
from autoscaler.web.sources import Sources
from autoscaler.web.work import Work


def application(sources: Sources, logger: Logger, *, with_users: bool, pages: Sequence[BaseRoute] = ()) -> Starlette:
    """Return the application without a guard. `pages`: more routes, such as those of the page."""
    web, operations = _Web(sources, logger), endpoints(sources, logger)

    @cache
    def document() -> Any:
        """Built for the first client that asks: reading the docstrings takes 6 MiB and a tenth of the start."""
        return openapi(operations, with_users=with_users)

    async def describe(request: Request) -> Response:  # noqa: ARG001 - starlette's signature
        return JSONResponse(await sources.work.run(document))

    made = Starlette(
        routes=[
            Route("/-/healthy", web.healthy),
            Route("/-/ready", web.ready),
            Route("/-/reload", web.reload, methods=["POST"]),
            Route("/-/resign", web.resign, methods=["POST"]),
            Route("/metrics", web.metrics),
            Route(f"{PREFIX}/openapi.json", describe),
            *[Route(PREFIX + each.path, web.endpoint(each), methods=[each.method]) for each in operations],
            *pages,
        ],
        middleware=[Middleware(GZipMiddleware, minimum_size=1_000, compresslevel=1)],
        exception_handlers={HTTPException: _unrouted, RequestError: _refused},
    )
    made.router.redirect_slashes = False  # a redirect would repeat the Host header, which the client chooses
    return made


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)  # noqa: S101 - for the type checker: it is registered for no other
    return failure(error.kind, str(error), error.headers)


async def _unrouted(request: Request, error: Exception) -> Response:
    """Answer starlette's own errors: no such path, no such method."""
    assert isinstance(error, HTTPException)  # noqa: S101 - for the type checker: it is registered for no other
    headers = dict(error.headers or {})
    if error.status_code == 405:
        return failure(ErrorType.METHOD_NOT_ALLOWED, f"{request.method} is not possible here", headers)
    if error.status_code == 404:
        return failure(ErrorType.NOT_FOUND, f"there is nothing at this path; see {PREFIX}/openapi.json")
    return failure(ErrorType.BAD_DATA, error.detail)


class _Web:
    """The handlers."""

    def __init__(self, sources: Sources, logger: Logger) -> None:
        self._sources = sources
        self._logger = logger
        self._work = sources.work
        self._orders = Work(threads=1, most_waiting=1)

    async def healthy(self, request: Request) -> Response:  # noqa: ARG002 - starlette's signature
        """Answer 200: the process runs."""
        return PlainTextResponse("autoscaler is healthy.\n")

    async def ready(self, request: Request) -> Response:  # noqa: ARG002 - starlette's signature
        """Answer whether every autoscaler has had its first cycle; of a standby, that its configuration is loaded."""
        if self._sources.ready():
            return PlainTextResponse("autoscaler is ready.\n")
        return PlainTextResponse("autoscaler is starting: its first cycles have not ended.\n", 503)

    async def reload(self, request: Request) -> Response:
        """Reload the configuration."""
        return await self._ordered(request, "reload_requested", self._sources.reload, "reloaded.\n")

    async def resign(self, request: Request) -> Response:
        """Let another daemon lead."""
        return await self._ordered(request, "resign_requested", self._sources.resign, "resigned.\n")

    async def _ordered(self, request: Request, event: str, order: Callable[[], Sequence[str]], done: str) -> Response:
        """Have the main thread do something, and answer with what was wrong."""
        problems = await self._orders.run(order)
        self._logger.info(event, by=request.scope["user"])
        if problems:
            return PlainTextResponse("".join(f"{problem}\n" for problem in problems), 500)
        return PlainTextResponse(done)

    async def metrics(self, request: Request) -> Response:  # noqa: ARG002 - starlette's signature
        """Answer the registry as text."""
        body = await self._work.run(partial(exposition, self._sources.registry))
        return Response(body, headers={"Content-Type": CONTENT_TYPE})

    def endpoint(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler of one operation."""

        async def handle(request: Request) -> Response:
            try:
                given = {
                    "name": request.path_params.get("name"),
                    "query": query_of(endpoint.query, request),
                    "body": None if endpoint.body is None else await body_of(endpoint.body, request),
                    "by": request.scope["user"] or "",
                }
                # on a thread, because writing a long list takes time
                return await self._work.run(lambda: success(endpoint.answer_to(**given)))
            except Exception as error:  # noqa: BLE001 - see `refusal_of`
                return await _refused(request, refusal_of(error, request.url.path, self._logger))

        return handle
