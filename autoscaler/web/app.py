"""The ASGI application: health, metrics, the API and the page's routes."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import cache, partial
from typing import Any, Final, TypeVar

from pydantic import BaseModel
from pydantic_core import from_json
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from autoscaler.logger import Logger
from autoscaler.metrics import CONTENT_TYPE, exposition
from autoscaler.view.parameters import validated
from autoscaler.web.api.answers import JSON, ErrorType, RequestError, failure, refusal_of, success
from autoscaler.web.api.endpoints import PREFIX, Endpoint, endpoints
from autoscaler.web.api.openapi import openapi
from autoscaler.web.sources import Sources
from autoscaler.web.work import Work

_MAX_BODY_BYTES: Final = 64 * 1024
_MAX_PARAMETERS: Final = 32
_ModelT = TypeVar("_ModelT", bound=BaseModel)


def application(sources: Sources, logger: Logger, *, with_users: bool, pages: Sequence[BaseRoute] = ()) -> Starlette:
    """Return the application without a guard. `pages`: more routes, such as those of the page."""
    web, operations = _Web(sources, logger), endpoints(sources, logger)

    @cache
    def document() -> Any:
        """Made for who asks: reading the docstrings of all fields takes a daemon 6 MiB and a tenth of its start."""
        return openapi(operations, with_users=with_users)

    async def describe(request: Request) -> Response:  # noqa: ARG001 - starlette's signature
        try:
            return JSONResponse(await sources.work.run(document))
        except RequestError as error:
            return failure(error.kind, str(error), error.headers)

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
        exception_handlers={HTTPException: _refused},
    )
    made.router.redirect_slashes = False  # a redirect would repeat the Host header, which the client chooses
    return made


async def _refused(request: Request, error: Exception) -> Response:
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
        try:
            problems = await self._orders.run(order)
        except RequestError as error:
            return PlainTextResponse(f"{error}\n", 503, error.headers)
        self._logger.info(event, by=request.scope["user"])
        if problems:
            return PlainTextResponse("".join(f"{problem}\n" for problem in problems), 500)
        return PlainTextResponse(done)

    async def metrics(self, request: Request) -> Response:  # noqa: ARG002 - starlette's signature
        """Answer the registry as text."""
        try:
            body = await self._work.run(partial(exposition, self._sources.registry))
        except RequestError as error:
            return PlainTextResponse(f"{error}\n", 503, error.headers)
        return Response(body, headers={"Content-Type": CONTENT_TYPE})

    def endpoint(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler of one operation."""

        async def handle(request: Request) -> Response:
            try:
                given = {
                    "name": request.path_params.get("name"),
                    "query": _query(endpoint.query, request),
                    "body": None if endpoint.body is None else await _body(endpoint.body, request),
                    "by": request.scope["user"] or "",
                }
                # on a thread, because writing a long list takes time
                return await self._work.run(lambda: success(endpoint.answer_to(**given)))
            except Exception as error:  # noqa: BLE001 - see `refusal_of`
                refusal = refusal_of(error, request.url.path, self._logger)
                return failure(refusal.kind, str(refusal), refusal.headers)

        return handle


def _query(model: type[_ModelT], request: Request) -> _ModelT:
    given = request.query_params.multi_items()
    if len(given) > _MAX_PARAMETERS:
        raise RequestError(ErrorType.BAD_DATA, f"more than {_MAX_PARAMETERS} parameters are given; give fewer")
    repeated, times = next(iter(Counter(name for name, _ in given).most_common(1)), ("", 0))
    if times > 1:
        raise RequestError(ErrorType.BAD_DATA, f"{repeated[:64]}: is given more than once; give it once")
    return validated(model, dict(given), "parameter")


async def _body(model: type[_ModelT], request: Request) -> _ModelT:
    """Return the JSON body; an empty one is `{}`."""
    raw = b""
    async for part in request.stream():
        raw += part
        if len(raw) > _MAX_BODY_BYTES:
            raise RequestError(ErrorType.BAD_DATA, f"the body is longer than {_MAX_BODY_BYTES} bytes; shorten it")
    if "malformed" in request.scope["state"]:
        raise RequestError(ErrorType.BAD_DATA, "the body is not valid HTTP; send its length, or valid chunks")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if (raw and kind != JSON) or (not raw and kind not in ("", JSON)):
        raise RequestError(ErrorType.UNSUPPORTED, f"the body is of the type {kind[:64] or 'unknown'}; send {JSON}")
    if not raw:
        return validated(model, {}, "key")
    try:
        value: Any = from_json(raw)  # refuses lone surrogates, which no message could repeat
    except ValueError:
        raise RequestError(ErrorType.BAD_DATA, "the body is not valid JSON; send an object") from None
    if not isinstance(value, dict):
        raise RequestError(ErrorType.BAD_DATA, "the body is not a JSON object; send one")
    return validated(model, value, "key")
