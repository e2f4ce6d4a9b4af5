"""The form of every answer: Prometheus' envelope, and errors with a remedy."""

from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from autoscaler.documents.base import Document
from autoscaler.documents.reads import NoDecision, UnknownAutoscaler
from autoscaler.errors import AutoscalerError, StateError, named
from autoscaler.logger import Logger

JSON: Final = "application/json"
RETRY: Final = {"Retry-After": "1"}
_Data = TypeVar("_Data", bound=Document)


class ErrorType(StrEnum):
    """The kind of a failure."""

    BAD_DATA = "bad_data"
    """A parameter or the body is invalid."""
    UNAUTHORIZED = "unauthorized"
    """Credentials are missing or wrong."""
    FORBIDDEN = "forbidden"
    """The client is not allowed to make the request."""
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    CONFLICT = "conflict"
    """The request contradicts the configuration."""
    UNSUPPORTED = "unsupported_media_type"
    """The limit of wrong passwords is exceeded."""
    INTERNAL = "internal"
    UNAVAILABLE = "unavailable"
    """The state cannot be read or written now, or too many requests wait."""


STATUS: Final = {
    ErrorType.BAD_DATA: HTTPStatus.BAD_REQUEST,
    ErrorType.UNAUTHORIZED: HTTPStatus.UNAUTHORIZED,
    ErrorType.FORBIDDEN: HTTPStatus.FORBIDDEN,
    ErrorType.NOT_FOUND: HTTPStatus.NOT_FOUND,
    ErrorType.METHOD_NOT_ALLOWED: HTTPStatus.METHOD_NOT_ALLOWED,
    ErrorType.CONFLICT: HTTPStatus.CONFLICT,
    ErrorType.UNSUPPORTED: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    ErrorType.INTERNAL: HTTPStatus.INTERNAL_SERVER_ERROR,
    ErrorType.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
}


class Success(BaseModel, Generic[_Data]):
    """The answer to a successful request."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    status: Literal["success"] = "success"
    data: _Data


class Failure(Document):
    """The answer to a failed request."""

    status: Literal["error"] = "error"
    error_type: ErrorType
    error: str
    """The problem, then the remedy."""


class RequestError(AutoscalerError):
    """Raised to refuse a request with this answer."""

    def __init__(self, kind: ErrorType, message: str, headers: Mapping[str, str] | None = None) -> None:
        self.kind, self.headers = kind, headers
        super().__init__(message)


def refusal_of(error: Exception, path: str, logger: Logger) -> RequestError:
    """Return how a request at `path` that failed is answered. A bug fails its own request only, and is logged."""
    match error:
        case RequestError():
            return error
        case UnknownAutoscaler() | NoDecision():
            return RequestError(ErrorType.NOT_FOUND, str(error))
        case StateError():
            return RequestError(ErrorType.UNAVAILABLE, str(error))
        case ClientDisconnect():
            return RequestError(ErrorType.BAD_DATA, "the request has no end; send all of it")
    logger.error("request_failed", path=path[:200], error=named(error))
    return RequestError(
        ErrorType.INTERNAL, "the request failed because of a bug; see the daemon's log, and please report it"
    )


def success(document: Document) -> Response:
    """Return a 200 response with the document."""
    return Response(b'{"status":"success","data":' + document.model_dump_json().encode() + b"}", media_type=JSON)


def failure(kind: ErrorType, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with the message and the status of its kind."""
    body: Any = Failure(error_type=kind, error=message).model_dump_json()
    return Response(body, STATUS[kind], headers, JSON)
