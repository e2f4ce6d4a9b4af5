"""Reads a configuration as the daemon would before it is printed, and compares it with the intended one.

Names come from the manifests and arguments of others. If YAML read a name as something else, for example as a section
`adapters` with a command, an operator who appends the output to a configuration would execute it.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from autoscaler.config.connections import Connections
from autoscaler.config.document import YamlDocument
from autoscaler.config.entries import read_entries
from autoscaler.config.problems import Problems
from autoscaler.config.rules import check_autoscalers, check_rules
from autoscaler.config.warnings import add_refused
from autoscaler.convert.blocks import AutoscalerBlock, section_lines, section_value
from autoscaler.errors import AutoscalerError, ConfigError
from autoscaler.fields.promql import Parser
from autoscaler.fields.queries import DEFAULT_SOURCE
from autoscaler.fields.types import Scope
from autoscaler.text import plain

_OUTPUT: Final = "the output"
_ANY_EXPRESSION: Final = "vector(1)"


def checked_lines(head: Sequence[str], blocks: Sequence[AutoscalerBlock]) -> list[str]:
    """Return comments and the section `autoscalers`, for printing.

    Raises AutoscalerError if the daemon would not read them as intended, or would refuse more than an empty query.
    """
    lines = [*(f"# {plain(line)}" for line in head), *section_lines(blocks)]
    meant = section_value(blocks)
    try:
        document = YamlDocument("\n".join(lines) + "\n", _OUTPUT)
        if json.dumps(document.value) != json.dumps(meant):
            raise AutoscalerError("the output would not be read as intended, so nothing is written; report it")
        _refuse_what_does_not_load(document, blocks)
    except ConfigError as error:
        first = error.problems[0]
        what = f"{first.path}: {first.message}" if first.path else first.message
        raise AutoscalerError(f"nothing is written, because `check` would refuse it: {what}") from None
    return lines


def _refuse_what_does_not_load(document: YamlDocument, blocks: Sequence[AutoscalerBlock]) -> None:
    sources = {metric.query.source or DEFAULT_SOURCE for block in blocks for metric in block.metrics}
    scope: Scope = {
        "folder": Path.cwd(),
        "prometheus": frozenset(sources),
        "queries": {},
        "expressions": Parser(),
        "schedules": {},
        "adapters": dict.fromkeys(block.adapter for block in blocks),
    }
    problems, value = Problems(document), _with_queries(document.value)
    entries = read_entries(value, scope, problems)
    check_autoscalers(value["autoscalers"], Connections(dict(scope["adapters"]), {}, {}), document, problems)
    check_rules(entries, problems)
    add_refused(problems, entries)
    if any(problems):
        raise ConfigError(list(problems))


def _with_queries(value: Any) -> Any:
    """Return the value with an expression in place of each empty one."""
    if isinstance(value, Mapping):
        return {
            key: _ANY_EXPRESSION if (key, each) == ("expr", "") else _with_queries(each) for key, each in value.items()
        }
    return [_with_queries(each) for each in value] if isinstance(value, list) else value
