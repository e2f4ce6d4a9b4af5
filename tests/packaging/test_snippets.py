"""The YAML in the documents."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoscaler.config.loader import load
from autoscaler.model import Autoscaler

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CONNECTIONS = {
    "containers": {"type": "aws-ecs", "region": "eu-west-1"},
    "fleet": {"type": "aws-asg", "region": "eu-west-1"},
    "nomad": {"type": "nomad"},
    "swarm": {"type": "docker-swarm"},
}
"""The connections of the examples that omit the section `adapters`."""
_BLOCK = re.compile(r"^ *```yaml\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def snippets() -> Iterator[Any]:
    for document in DOCUMENTS:
        text = document.read_text()
        for block in _BLOCK.finditer(text):
            line = text.count("\n", 0, block.start()) + 1
            yield pytest.param(block[1], id=f"{document.name}:{line}")


def complete(text: str) -> dict[str, Any] | None:
    """Return the snippet as a configuration with connections; None: it is a part, or of another program."""
    contents = list(yaml.safe_load_all(text))
    content = contents[0] if len(contents) == 1 and isinstance(contents[0], dict) else {}
    autoscalers = content.get("autoscalers", [])
    if not autoscalers or any(each.get("metrics") in (None, ["…"]) for each in autoscalers):
        return None
    if "adapters" not in content:
        content["adapters"] = {
            name: CONNECTIONS[name] for each in autoscalers for name in [each["scaleTargetRef"]["adapter"]]
        }
    return dict(content)


def loaded(content: dict[str, Any], folder: Path) -> tuple[Autoscaler, ...]:
    file = folder / "autoscaler.yaml"
    file.write_text(yaml.safe_dump(content))
    return load(file).autoscalers


def _in_braces(node: yaml.Node | None, *, inside: bool = False) -> Iterator[str]:
    """Yield the expressions in braces or brackets."""
    inside = inside or getattr(node, "flow_style", False) is True
    for each in node.value if isinstance(node, yaml.MappingNode | yaml.SequenceNode) else ():
        key, value = each if isinstance(each, tuple) else (None, each)
        if inside and key is not None and key.value == "expr":
            yield value.value
        yield from _in_braces(value, inside=inside)


def test_no_example_has_promql_in_braces() -> None:
    """Who replaces the expression by one with `{job="x"}`, `[5m]` or a comma would get an error of YAML."""
    texts = {file.name: file.read_text() for file in sorted((ROOT / "config").rglob("*.yaml"))}
    texts |= {str(each.id): str(each.values[0]) for each in snippets()}
    texts["debian"] = re.sub("^#(?! )", "", (ROOT / "debian" / "autoscaler.yaml").read_text(), flags=re.MULTILINE)
    found = {
        name: expressions
        for name, text in texts.items()
        if (expressions := [one for node in yaml.compose_all(text) for one in _in_braces(node)])
    }
    assert found == {}


@pytest.mark.parametrize("text", list(snippets()))
def test_an_example_is_valid(text: str, tmp_path: Path) -> None:
    """Users copy it. A part must be YAML, and a whole configuration must load."""
    content = complete(text)
    if content is not None:
        assert loaded(content, tmp_path)


def test_every_source_of_the_example_is_valid(tmp_path: Path) -> None:
    """The example of other servers is a part, so no other test loads it."""
    (text,) = [each for each in _BLOCK.findall((ROOT / "docs" / "queries.md").read_text()) if "sigv4" in each]
    (tmp_path / "autoscaler.yaml").write_text(f"{text}\nautoscalers: []\n")
    assert len(load(tmp_path / "autoscaler.yaml").prometheus) == 6
