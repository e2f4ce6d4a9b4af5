"""Types of configuration fields that adapters and the core share."""

from datetime import timedelta
from pathlib import Path, PosixPath
from typing import Annotated, Any, Final, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    Strict,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel

from autoscaler.net.limits import Tls
from autoscaler.quantity import format_duration, parse_duration


class AdapterSettings(BaseModel):
    """Base of every section: camelCase keys, unknown keys refused, immutable after loading.

    A key with the value null counts as omitted, as in Kubernetes.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _leave_out(cls, data: Any) -> Any:
        if not isinstance(data, dict) or None not in data.values():
            return data
        known = {field.alias for field in cls.model_fields.values()}
        return {key: value for key, value in data.items() if value is not None or key not in known}


MAX_DURATION: Final = timedelta(days=36_500)
"""The longest duration: a time plus or minus a few of it is still a valid date."""


def _duration(value: Any) -> Any:
    if value == 0 and type(value) is int:  # false equals 0, too
        return timedelta(0)
    if not isinstance(value, str | timedelta):
        raise ValueError(f'{value!r} is not a valid duration; write it with a unit, as in "15s" or "5m"')
    duration = parse_duration(value) if isinstance(value, str) else value
    if duration > MAX_DURATION:
        raise ValueError(
            f"{str(value)[:64]} is too long a duration; write at most {format_duration(MAX_DURATION)} (100 years)"
        )
    return duration


Duration: TypeAlias = Annotated[
    timedelta,
    BeforeValidator(_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema(
        {
            "anyOf": [{"type": "string", "pattern": r"^(0|([0-9]+(y|w|d|h|m|s|ms))+)$"}, {"const": 0}],
            "examples": ["15s", "5m"],
        }
    ),
]
"""A Prometheus duration, at most 100 years: `15s`, `1m30s`, `0`."""


def _given(path: object) -> object:
    if path == "":
        raise ValueError("the path is empty; write one, or remove it")
    return path


def _resolve(path: Path, info: ValidationInfo) -> Path:
    if "\0" in str(path):
        raise ValueError("the path holds a NUL character, which no file's name can; remove it")
    folder = (info.context or {}).get("folder")
    return Path(folder, path) if folder is not None else path


ConfigPath: TypeAlias = Annotated[Path, BeforeValidator(_given), AfterValidator(_resolve)]
"""A path, relative to the folder of its file (validation context `folder`)."""


class SharedFile(PosixPath):
    """The value of a `SharedPath`: a path whose type `load` recognizes."""


def _shared(path: Path) -> Path:
    return SharedFile(path)


SharedPath: TypeAlias = Annotated[ConfigPath, AfterValidator(_shared)]
"""A path to a file that the daemon writes and Prometheus reads, usually as another user.

`check` only warns when either could not, because it may run on another machine.
"""


class ExistingFile(PosixPath):
    """The value of an `ExistingPath`: a path whose type `load` recognizes."""


def _existing(path: Path) -> Path:
    return ExistingFile(path)


ExistingPath: TypeAlias = Annotated[ConfigPath, AfterValidator(_existing)]
"""A path to a file that must be readable where the daemon runs, such as a secret or a certificate.

`check` only warns when it is missing, because it may run on another machine; `run` refuses to start.
"""


class Program(str):
    """The first word of a `Command`: the program's path. `load` recognizes its type."""

    __slots__ = ()


def _command(command: tuple[str, ...]) -> tuple[str, ...]:
    if not command[0].startswith("/"):
        raise ValueError(f"{command[0][:64]!r} is not an absolute path; write one, as in [/usr/local/bin/program]")
    if any("\0" in word for word in command):
        raise ValueError("a word holds a NUL character; remove it")
    return (Program(command[0]), *command[1:])


Command: TypeAlias = Annotated[tuple[Annotated[str, Strict()], ...], Field(min_length=1), AfterValidator(_command)]
"""A program with its absolute path, and its arguments. No shell runs.

`check` only warns when it is missing, because it may run on another machine. `run` starts, and what needs it fails.
"""


class TlsSettings(AdapterSettings):
    """TLS for a connection's server."""

    ca_file: ExistingPath | None = None
    """Certificate authority of the server's certificate. Default: the system's."""
    cert_file: ExistingPath | None = None
    """The daemon's own certificate, when the server requires one. Docker gives its holder full control."""
    key_file: ExistingPath | None = None
    """The key of `certFile`."""

    @model_validator(mode="after")
    def _pair(self) -> Self:
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("certFile and keyFile go together; give both or neither")
        return self

    def files(self) -> Tls:
        """Return the files as a session takes them."""
        return Tls(self.ca_file, self.cert_file, self.key_file)
