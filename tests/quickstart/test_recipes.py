"""Every curl command of the documents works. (Those of the quickstarts are run with their pages.)"""

import json
import re
from collections.abc import Iterator
from typing import Final

import pytest

from tests.quickstart.machine import QuickstartMachine, running_machine
from tests.quickstart.page import DOCS

pytestmark = pytest.mark.slow

_RECIPE: Final = re.compile(r"^ *curl (?:.*\\\n)*.*$", re.MULTILINE)
_FOLLOWED: Final = {page.name for page in DOCS.glob("quickstart-*.md")}
_CONFIGURATION: Final = DOCS.parent / "config" / "examples" / "memory.yaml"


def recipes() -> Iterator[object]:
    for document in sorted({*DOCS.rglob("*.md"), DOCS.parent / "README.md"}):
        text = document.read_text()
        for recipe in _RECIPE.finditer(text):
            if document.name not in _FOLLOWED:
                line = text.count("\n", 0, recipe.start()) + 1
                yield pytest.param(recipe[0], id=f"{document.name}:{line}")


RECIPES: Final = [*recipes()]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuickstartMachine]:
    """A machine with the service and an autoscaler `web`, at the default addresses and socket."""
    with running_machine(tmp_path_factory.mktemp("machine")) as running:
        running.write("/etc/autoscaler/autoscaler.yaml", _CONFIGURATION.read_text())
        running.run("systemctl restart autoscaler\n")
        yield running


def test_recipes_are_found() -> None:
    """They are found by their notation."""
    assert len(RECIPES) >= 2


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_succeeds(recipe: str, machine: QuickstartMachine) -> None:
    """Readers copy it into a shell on the daemon's machine."""
    printed = machine.run(f"set -o pipefail\n{recipe.replace('curl ', 'curl --silent --show-error --fail ', 1)}\n")
    if "| jq" in recipe:
        assert printed.strip() not in ("", "null")
    else:
        assert json.loads(printed)["status"] == "success"
