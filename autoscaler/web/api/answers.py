"""The form of every answer: Prometheus' envelope, and errors with a remedy."""

from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from autoscaler.document import Document
from autoscaler.errors import AutoscalerError, StateError, named
from autoscaler.logger import Logger
from autoscaler.view.parameters import BadRequest
from autoscaler.view.reads import NoDecision, UnknownAutoscaler

JSON: Final = "application/json"
RETRY: Final = {"Retry-After": "1"}
_Data = TypeVar("_Data", bound=Document)


class ErrorType(StrEnum):
    """The kind of a failure."""

    BAD_DATA = "bad_data", HTTPStatus.BAD_REQUEST, "A parameter or the body is invalid."
    UNAUTHORIZED = "unauthorized", HTTPStatus.UNAUTHORIZED, "Credentials are missing or wrong."
    FORBIDDEN = "forbidden", HTTPStatus.FORBIDDEN, "The client is not allowed to make the request."
    NOT_FOUND = "not_found", HTTPStatus.NOT_FOUND, "There is no such autoscaler, or no decision at that time."
    METHOD_NOT_ALLOWED = "method_not_allowed", HTTPStatus.METHOD_NOT_ALLOWED, "The path has no such method."
    CONFLICT = (
        "conflict",
        HTTPStatus.CONFLICT,
        "The request contradicts the autoscaler's configuration or the time.",
    )
    UNSUPPORTED = "unsupported_media_type", HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The body is not JSON."
    INTERNAL = "internal", HTTPStatus.INTERNAL_SERVER_ERROR, "A bug."
    UNAVAILABLE = (
        "unavailable",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The state cannot be read or written now, or too many requests wait.",
    )

    status: HTTPStatus
    meaning: str

    def __new__(cls, value: str, status: HTTPStatus, meaning: str) -> Self:
        """Return the member with the status of the answer, and the meaning for the OpenAPI document."""
        made = str.__new__(cls, value)
        made._value_, made.status, made.meaning = value, status, meaning
        return made


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
        case BadRequest():
            return RequestError(ErrorType.BAD_DATA, str(error))
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
    return Response(body, kind.status, headers, JSON)
