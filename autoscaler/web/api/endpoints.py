"""The API's endpoints: one table for the routes and the OpenAPI document."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, get_type_hints

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from autoscaler.document import Document
from autoscaler.logger import Logger
from autoscaler.view.parameters import EventParameters, Nothing
from autoscaler.web.api.answers import ErrorType
from autoscaler.web.api.parameters import ManyBody
from autoscaler.web.api.steering import SteeringChanges
from autoscaler.web.sources import Sources

PREFIX: Final = "/api/v1"


@dataclass(frozen=True)
class Endpoint:
    """One operation of the API."""

    method: str
    path: str
    """Path below PREFIX. `{name}` is an autoscaler's name."""
    run: Callable[..., Document]
    """Performs the operation on a thread of the pool.

    It may take `name`, that of the path; `query` and `body`, of the types that the request has; and `by`, the user. Its
    name is that of the operation, and its docstring begins with the operation's summary.
    """

    @property
    def operation(self) -> str:
        """Return the operationId in the OpenAPI document."""
        return to_camel(self.run.__name__)

    @property
    def summary(self) -> str:
        """Return what the operation does."""
        return (self.run.__doc__ or "").partition("\n")[0]

    @property
    def answer(self) -> type[Document]:
        """Return the type of the envelope's `data`."""
        return self._types["return"]

    @property
    def query(self) -> type[BaseModel]:
        """Return the type of the URL's parameters."""
        return self._types.get("query", Nothing)

    @property
    def body(self) -> type[BaseModel] | None:
        """Return the type of the body; None: it has none."""
        return self._types.get("body")

    @property
    def errors(self) -> Sequence[ErrorType]:
        """Return the errors that the endpoint may answer."""
        found = [ErrorType.BAD_DATA, ErrorType.UNAUTHORIZED, ErrorType.FORBIDDEN]
        several = self.body is not None and issubclass(self.body, ManyBody)
        if "{name}" in self.path or self.query is EventParameters or several:
            found.append(ErrorType.NOT_FOUND)
        if self.body is not None:
            found += [ErrorType.CONFLICT, ErrorType.UNSUPPORTED]
        return (*found, ErrorType.INTERNAL, ErrorType.UNAVAILABLE)

    def answer_to(self, **given: Any) -> Document:
        """Perform the operation with those of the values that it takes."""
        return self.run(**{key: value for key, value in given.items() if key in self._types})

    @cached_property
    def _types(self) -> dict[str, type]:
        return get_type_hints(self.run)


def endpoints(sources: Sources, logger: Logger) -> Sequence[Endpoint]:
    """Return all endpoints."""
    changes, one = SteeringChanges(sources, logger), "/autoscalers/{name}"
    return (
        *[Endpoint("GET", path, run) for path, run in sources.reads().operations.items()],
        Endpoint("POST", f"{one}/pause", changes.pause_autoscaler),
        Endpoint("POST", f"{one}/resume", changes.resume_autoscaler),
        Endpoint("POST", f"{one}/override", changes.override_autoscaler),
        Endpoint("POST", "/pause", changes.pause_autoscalers),
        Endpoint("POST", "/resume", changes.resume_autoscalers),
    )
