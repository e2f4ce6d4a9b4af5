"""What a request gives: its URL's parameters and its body, checked against their models."""

from collections import Counter
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel
from pydantic_core import from_json
from starlette.requests import Request

from autoscaler.view.parameters import validated
from autoscaler.web.api.answers import JSON, ErrorType, RequestError

FORM: Final = "application/x-www-form-urlencoded"
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
    raw = await _read(request, JSON)
    if not raw:
        return validated(model, {}, "key")
    try:
        value: Any = from_json(raw)  # refuses lone surrogates, which no message could repeat
    except ValueError:
        raise RequestError(ErrorType.BAD_DATA, "the body is not valid JSON; send an object") from None
    if not isinstance(value, dict):
        raise RequestError(ErrorType.BAD_DATA, "the body is not a JSON object; send one")
    return validated(model, value, "key")


async def fields_of(request: Request) -> dict[str, str]:
    """Return the fields of a form that are not empty. Raises RequestError, and ClientDisconnect.

    Only a form that a script of this page sends is read: a browser sends the header to no other site by itself.
    """
    if "hx-request" not in request.headers:
        raise RequestError(ErrorType.FORBIDDEN, "the page's script did not send the form; allow JavaScript")
    try:
        return dict(parse_qsl((await _read(request, FORM)).decode(), max_num_fields=_MAX_PARAMETERS, errors="strict"))
    except ValueError:
        raise RequestError(ErrorType.BAD_DATA, "the body is not a valid form; send one in UTF-8") from None


async def _read(request: Request, wanted: str) -> bytes:
    """Return a body of this type; an empty one needs none."""
    raw = b""
    async for part in request.stream():
        raw += part
        if len(raw) > _MAX_BODY_BYTES:
            raise RequestError(ErrorType.BAD_DATA, f"the body is longer than {_MAX_BODY_BYTES} bytes; shorten it")
    if "malformed" in request.scope["state"]:
        raise RequestError(ErrorType.BAD_DATA, "the body is not valid HTTP; send its length, or valid chunks")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != wanted and (raw or kind):
        raise RequestError(ErrorType.UNSUPPORTED, f"the body is of the type {kind[:64] or 'unknown'}; send {wanted}")
    return raw
