"""What every answer looks like: Prometheus' envelope, and errors that say what to do."""

from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from autoscaler.documents.base import Document
from autoscaler.errors import AutoscalerError

JSON: Final = "application/json"
_Data = TypeVar("_Data", bound=Document)


class ErrorType(StrEnum):
    """What kind of failure it was."""

    BAD_DATA = "bad_data"
    """A parameter or the body is not as the API describes it."""
    UNAUTHORIZED = "unauthorized"
    """Credentials are missing or wrong."""
    FORBIDDEN = "forbidden"
    """The request comes from where it may not."""
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    CONFLICT = "conflict"
    """What was asked for does not go with the configuration."""
    UNSUPPORTED = "unsupported_media_type"
    TOO_MANY_REQUESTS = "too_many_requests"
    """More of them than are allowed, or too many wrong passwords."""
    INTERNAL = "internal"
    UNAVAILABLE = "unavailable"
    """The state cannot be read or written now, or too many requests wait already."""


STATUS: Final = {
    ErrorType.BAD_DATA: HTTPStatus.BAD_REQUEST,
    ErrorType.UNAUTHORIZED: HTTPStatus.UNAUTHORIZED,
    ErrorType.FORBIDDEN: HTTPStatus.FORBIDDEN,
    ErrorType.NOT_FOUND: HTTPStatus.NOT_FOUND,
    ErrorType.METHOD_NOT_ALLOWED: HTTPStatus.METHOD_NOT_ALLOWED,
    ErrorType.CONFLICT: HTTPStatus.CONFLICT,
    ErrorType.UNSUPPORTED: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    ErrorType.TOO_MANY_REQUESTS: HTTPStatus.TOO_MANY_REQUESTS,
    ErrorType.INTERNAL: HTTPStatus.INTERNAL_SERVER_ERROR,
    ErrorType.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
}


class Success(BaseModel, Generic[_Data]):
    """The answer to a request that was carried out."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    status: Literal["success"] = "success"
    data: _Data


class Failure(Document):
    """The answer to a request that was not."""

    status: Literal["error"] = "error"
    error_type: ErrorType
    error: str
    """What is wrong, then what to do."""


class RequestError(AutoscalerError):
    """A request is refused: answer it with what it carries."""

    def __init__(self, kind: ErrorType, message: str) -> None:
        self.kind = kind
        super().__init__(message)


def success(document: Document) -> Response:
    """200 with the document."""
    return Response(b'{"status":"success","data":' + document.model_dump_json().encode() + b"}", media_type=JSON)


def failure(kind: ErrorType, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """The status of its kind, with the message."""
    body: Any = Failure(error_type=kind, error=message).model_dump_json()
    return Response(body, STATUS[kind], headers, JSON)
