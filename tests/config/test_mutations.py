"""Loading any file gives settings or problems, never a traceback."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoscaler.config.loader import load
from autoscaler.errors import ConfigError, Problem
from autoscaler.fields import promql


def problems_of(file: Path) -> Sequence[Problem]:
    """Return the problems of the file. Any exception other than ConfigError fails the test."""
    try:
        load(file)
    except ConfigError as error:
        return error.problems
    return ()


_KEYS = st.sampled_from(["name", "metrics", "type", "expr", "ref", "query", "<<", "adapters", "a", "request", "x"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)
_SECTIONS = st.sampled_from(
    ["controller", "prometheus", "adapters", "queries", "autoscalers", "state", "web", "autoscalers[]", "metrics[]"]
)


@given(_SECTIONS, _VALUES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_in_any_section_is_accepted_or_a_problem(tmp_path: Path, section: str, value: object) -> None:
    """Rules that span sections read values before they are validated."""
    scaler = {"name": "w", "scaleTargetRef": {"adapter": "a", "name": "j/g"}, "maxReplicas": 1, "metrics": [value]}
    document: dict[str, object] = {"adapters": {"a": {"type": "groups"}}, "autoscalers": []}
    match section:
        case "autoscalers[]":
            document["autoscalers"] = [value, value]
        case "metrics[]":
            document["autoscalers"] = [scaler]
        case _:
            document[section] = value
    file = tmp_path / "autoscaler.yaml"
    file.write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-8")
    assert all(problem.message for problem in problems_of(file))


@given(st.text(alphabet="xy{}[]()=~\"'`\\,:@+-*/^% \n#0159mshdby_sumrateofftignorlp", max_size=40))
def test_any_text_is_accepted_as_promql_or_refused_with_a_reason(text: str) -> None:
    """The parser is written in Rust, and no `except Exception` catches its panic."""
    try:
        said = promql.parse(text).text
    except ValueError as error:
        said = str(error)
    assert said == text or said.startswith("invalid PromQL") or "; " in said


@pytest.mark.parametrize(
    "text", ["1" + "+1" * 300, "-" * 300 + "1", "(" * 100 + "x" + ")" * 100, 'x{a=~"' + "a|" * 20_000 + 'b"}']
)
def test_long_expressions_are_parsed(text: str) -> None:
    """Generated queries contain long lists of instances."""
    assert promql.parse(text).text == text
