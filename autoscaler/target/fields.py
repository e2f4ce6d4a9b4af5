"""Types of configuration fields that adapters and the core share."""

from datetime import timedelta
from pathlib import Path, PosixPath
from typing import Annotated, Any, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel

from autoscaler.quantity import format_duration, parse_duration


class AdapterSettings(BaseModel):
    """Base of every section: camelCase keys, unknown keys refused, values never changed after loading."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True, use_attribute_docstrings=True
    )


def _duration(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str):
        raise ValueError(f'{value!r} is no duration; write it with a unit, as in "15s" or "5m"')
    return parse_duration(value)


Duration: TypeAlias = Annotated[
    timedelta,
    BeforeValidator(_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^(0|([0-9]+(y|w|d|h|m|s|ms))+)$", "examples": ["15s", "5m"]}),
]
"""A Prometheus duration: `15s`, `1m30s`."""


def _resolve(path: Path, info: ValidationInfo) -> Path:
    folder = (info.context or {}).get("folder")
    return Path(folder, path) if folder is not None else path


ConfigPath: TypeAlias = Annotated[Path, AfterValidator(_resolve)]
"""A path, relative to the folder of the file it stands in (validation context `folder`)."""


class ExistingFile(PosixPath):
    """The value of an `ExistingPath`: a path by all means, told from others by its type."""


def _existing(path: Path) -> Path:
    return ExistingFile(path)


ExistingPath: TypeAlias = Annotated[ConfigPath, AfterValidator(_existing)]
"""A ConfigPath to a file that must be readable where the daemon runs: a secret, a certificate.

`check` only warns when it is not there, for it may run elsewhere; `run` refuses to start.
"""
