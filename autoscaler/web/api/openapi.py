"""The OpenAPI 3.1 document, made from the endpoints."""

from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from autoscaler.described import DescribedSchema
from autoscaler.version import DISTRIBUTION, VERSION
from autoscaler.web.api.answers import JSON, Failure, Success
from autoscaler.web.api.endpoints import PREFIX, Endpoint

_REF: Final = "#/components/schemas/{model}"


def openapi(endpoints: Sequence[Endpoint], *, with_users: bool) -> dict[str, Any]:
    """Return the OpenAPI document of the endpoints. `with_users`: whether the server requires a name and password."""
    answers: dict[type[BaseModel], type[BaseModel]] = {
        each.answer: Success[each.answer]  # type: ignore[name-defined]  # the type is made at run time
        for each in endpoints
    }
    bodies = [each.body for each in endpoints if each.body is not None]
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [(Failure, "serialization")]
    models += [(model, "serialization") for model in answers.values()]
    models += [(body, "validation") for body in bodies]
    places, schemas = models_json_schema(models, ref_template=_REF, schema_generator=DescribedSchema)
    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        operation: dict[str, Any] = {
            "operationId": each.operation,
            "summary": each.summary,
            "parameters": _parameters(each),
            "responses": {
                "200": _response("Done.", places[answers[each.answer], "serialization"]),
                **{
                    str(error.status.value): _response(error.meaning, places[Failure, "serialization"])
                    for error in each.errors
                },
            },
        }
        if each.body is not None:
            schema = places[each.body, "validation"]
            operation["requestBody"] = {"content": {JSON: {"schema": schema}}, "required": False}
        paths.setdefault(PREFIX + each.path, {})[each.method.lower()] = operation
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": DISTRIBUTION,
            "version": VERSION,
            "description": "What autoscalers do and why; pauses and overrides. See docs/http.md.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": schemas["$defs"]},
    }
    if with_users:
        document["components"]["securitySchemes"] = {"basic": {"type": "http", "scheme": "basic"}}
        document["security"] = [{"basic": []}]
    return document


def _response(meaning: str, schema: Any) -> dict[str, Any]:
    return {"description": meaning, "content": {JSON: {"schema": schema}}}


def _parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if "{name}" in endpoint.path:
        found.append(
            {
                "name": "name",
                "in": "path",
                "required": True,
                "description": "The autoscaler's name.",
                "schema": {"type": "string"},
            }
        )
    return found + [_parameter(name, schema) for name, schema in _properties(endpoint.query).items()]


def _properties(model: type[BaseModel]) -> dict[str, Any]:
    properties: dict[str, Any] = model.model_json_schema(schema_generator=DescribedSchema).get("properties", {})
    return properties


def _parameter(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a URL parameter's schema. An optional one is omitted, not null."""
    plain = {key: value for key, value in schema.items() if key not in ("title", "description", "default")}
    if schema.get("default") is not None:
        plain["default"] = schema["default"]
    if "anyOf" in plain:
        kinds = [kind for kind in plain.pop("anyOf") if kind != {"type": "null"}]
        plain |= kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    return {"name": name, "in": "query", "description": schema.get("description", ""), "schema": plain}
