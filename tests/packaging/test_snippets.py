"""The YAML in the documents."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoscaler.config import load
from autoscaler.model import Autoscaler
from tests.decide.build import Life, value

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


def test_every_example_of_coming_from_is_a_whole_configuration() -> None:
    """Each is then tested by loading it."""
    texts = _BLOCK.findall((ROOT / "docs" / "coming-from.md").read_text())
    assert len(texts) >= 2
    assert None not in [complete(text) for text in texts]


@pytest.mark.parametrize(
    ("size", "asked", "becomes"), [(2, 7_000, 7), (20, 21_000, 21), (7, 7_200, 8), (30, 3_000, 3), (0, 1_000, 1)]
)
def test_pass_through_sets_the_size_that_the_query_returns(size: int, asked: int, becomes: int, tmp_path: Path) -> None:
    """As in the Nomad Autoscaler, no rounding, delay or tolerance applies."""
    life = Life(_example("workers", tmp_path), 1)
    life.step(value(size * 1_000), after=15)
    assert life.size == size
    life.step(value(asked), after=15)
    assert life.size == becomes


@pytest.mark.parametrize(("connections", "becomes"), [(10_050, 4), (15_000, 6), (5_000, 2)])
def test_target_value_keeps_the_metric_at_its_target(connections: int, becomes: int, tmp_path: Path) -> None:
    """A deviation of 1 % is within the threshold of the Nomad Autoscaler's strategy."""
    life = Life(_example("cache", tmp_path), 4)
    for _ in range(3):
        life.step(value(connections), after=60)
        if life.size != 4:
            break
    assert life.size == becomes


def _example(name: str, folder: Path) -> Autoscaler:
    contents = map(complete, _BLOCK.findall((ROOT / "docs" / "coming-from.md").read_text()))
    return next(each for content in contents if content for each in loaded(content, folder) if each.name == name)
