"""What `import` makes of the settings of KEDA and Nomad, among them each row of their tables in docs/coming-from.md."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.cli import keda, nomad

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "coming-from.md"
SECTIONS: Final = {"KEDA": keda, "Nomad Autoscaler": nomad}


@pytest.mark.parametrize(("section", "row"), [(name, row) for name, of in SECTIONS.items() for row in of.SAME])
def test_a_setting_that_is_carried_over(section: str, row: str, file: Path) -> None:
    given, holds = SECTIONS[section].SAME[row]
    scaler, err, code = SECTIONS[section].imported(file, given)
    assert holds(scaler), scaler
    assert code == 0, err


@pytest.mark.parametrize(("section", "row"), [(name, row) for name, of in SECTIONS.items() for row in of.SAID])
def test_a_setting_that_is_named(section: str, row: str, file: Path) -> None:
    """The exit code is 0: a difference is no failure."""
    given, text = SECTIONS[section].SAID[row]
    _, err, code = SECTIONS[section].imported(file, given)
    assert text in err
    assert code == 0, err


@pytest.mark.parametrize("section", SECTIONS)
def test_every_row_of_the_table_has_a_test(section: str) -> None:
    text = PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    rows = {re.split(r"(?<!\\) \| ", line.removeprefix("| "))[0] for line in lines[1:]}
    assert rows
    assert rows <= {*SECTIONS[section].SAME, *SECTIONS[section].SAID}
