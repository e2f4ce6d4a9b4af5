"""Reads a YAML file whose mapping a pydantic model describes, such as `--web.config.file`."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from autoscaler.config.document import YamlDocument
from autoscaler.config.problems import Problems
from autoscaler.config.source import read
from autoscaler.errors import ConfigError, Problem

_ModelT = TypeVar("_ModelT", bound=BaseModel)


def read_model(path: Path, model: type[_ModelT], keys: str) -> tuple[_ModelT, YamlDocument, Problems]:
    """Return the file's values, its document, and a collection for further problems. An empty file has no keys.

    `keys`: examples, for the error of a file that is no mapping. The model's validators find the file's folder in their
    context. Raises ConfigError with every problem.
    """
    document = YamlDocument(read(path), str(path))
    problems = Problems(document)
    value = {} if document.value is None else document.value
    if not isinstance(value, dict):
        raise ConfigError([Problem(str(path), 1, 1, "", f"the file is not a mapping; write {keys}")])
    found = problems.read(model, value, (), {"folder": path.absolute().parent})
    if found is None:
        raise ConfigError(list(problems))
    return found, document, problems
