"""The tests of the example configurations, and the first one of docs/testing.md."""

import re
from pathlib import Path

import pytest

from autoscaler.scenarios.reading import read_tests
from autoscaler.scenarios.results import result_of
from tests.scenarios.building import Project

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "config/examples/tests").glob("*.yaml"))


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_tests_of_an_example_pass(file: Path) -> None:
    for scenario in read_tests(file):
        result = result_of(scenario)
        assert result.passed, [str(failed) for failed, _ in result.failures]


def test_every_example_has_tests() -> None:
    assert {file.name for file in FILES} == {file.name for file in (ROOT / "config/examples").glob("*.yaml")}


def test_the_first_test_of_the_documentation_passes(project: Project, tmp_path: Path) -> None:
    """It is copied from there, with its configuration."""
    blocks = re.findall(r"```yaml\n(.+?)```", (ROOT / "docs/testing.md").read_text(), re.DOTALL)
    config, tests = blocks[:2]
    (tmp_path / "autoscaler.yaml").write_text(config)
    project.tests.write_text(tests)
    code, text = project.run()
    assert code == 0, text
