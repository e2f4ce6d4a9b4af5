"""What a request gives: its URL's parameters and its body, checked against their models."""

from collections import Counter
from typing import Any, Final, TypeVar

from pydantic import BaseModel
from pydantic_core import from_json
from starlette.requests import Request

from autoscaler.view.parameters import validated
from autoscaler.web.api.answers import JSON, ErrorType, RequestError

_MAX_BODY_BYTES: Final = 64 * 1024
_MAX_PARAMETERS: Final = 32
_ModelT = TypeVar("_ModelT", bound=BaseModel)


def query_of(model: type[_ModelT], request: Request) -> _ModelT:
    """Return the URL's parameters. Raises RequestError and BadRequest."""
    given = request.query_params.multi_items()
    if len(given) > _MAX_PARAMETERS:
        raise RequestError(ErrorType.BAD_DATA, f"more than {_MAX_PARAMETERS} parameters are given; give fewer")
    repeated, times = next(iter(Counter(name for name, _ in given).most_common(1)), ("", 0))
    if times > 1:
        raise RequestError(ErrorType.BAD_DATA, f"{repeated[:64]}: is given more than once; give it once")
    return validated(model, dict(given), "parameter")


async def body_of(model: type[_ModelT], request: Request) -> _ModelT:
    """Return the JSON body; an empty one is `{}`. Raises RequestError, BadRequest and ClientDisconnect."""
    raw = await _read(request)
    if not raw:
        return validated(model, {}, "key")
    try:
        value: Any = from_json(raw)  # refuses lone surrogates, which no message could repeat
    except ValueError:
        raise RequestError(ErrorType.BAD_DATA, "the body is not valid JSON; send an object") from None
    if not isinstance(value, dict):
        raise RequestError(ErrorType.BAD_DATA, "the body is not a JSON object; send one")
    return validated(model, value, "key")


async def _read(request: Request) -> bytes:
    """Return a body of JSON; an empty one needs no type."""
    raw = b""
    async for part in request.stream():
        raw += part
        if len(raw) > _MAX_BODY_BYTES:
            raise RequestError(ErrorType.BAD_DATA, f"the body is longer than {_MAX_BODY_BYTES} bytes; shorten it")
    if "malformed" in request.scope["state"]:
        raise RequestError(ErrorType.BAD_DATA, "the body is not valid HTTP; send its length, or valid chunks")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON and (raw or kind):
        raise RequestError(ErrorType.UNSUPPORTED, f"the body is of the type {kind[:64] or 'unknown'}; send {JSON}")
    return raw
