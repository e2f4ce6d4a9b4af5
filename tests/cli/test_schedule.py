"""`autoscaler schedule`."""

import json
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autoscaler.cli.app import app
from tests.config.schedules import NIGHT, OFFICE, SALE, text
from tests.operations import operations


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "autoscaler.yaml"
    path.write_text(text("office, sale, night", f"office: [{OFFICE}]", f"sale: [{SALE}]", f"night: [{NIGHT}]"))
    return path


def run(config: Path, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["schedule", *words, "--config.file", str(config)], prog_name="autoscaler")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def test_every_change_has_both_times_the_bounds_and_the_entry(config: Path) -> None:
    code, out = run(config, "web", "--since", "2026-11-26T12:00Z", "--until", "2026-11-28T00:00Z")
    assert code == 0
    assert out.splitlines() == [
        "UTC                LOCAL                        NAME   MIN       MAX        SCHEDULE",
        "2026-11-26 17:00   Thu 18:00 Europe/Berlin      web    10 -> 2   20         office closes",
        "2026-11-26 19:00   Thu 20:00 Europe/Berlin      web    2 -> 0    20 -> 0    night opens",
        "2026-11-27 05:00   Fri 00:00 America/New_York   web    0 -> 40   0 -> 80    sale opens, night closes",
        "2026-11-27 19:00   Fri 20:00 Europe/Berlin      web    40        80 -> 40   night opens",
    ]


def test_a_window_that_is_open_at_the_start_is_known(config: Path) -> None:
    code, out = run(config, "--since", "2026-11-26T21:00Z", "--until", "2026-11-27T05:00:01Z", "-o", "json")
    (change,) = json.loads(out)["changes"]
    assert (code, change["before"], change["after"]) == (
        0,
        {"minimum": 0, "maximum": 0},
        {"minimum": 40, "maximum": 80},
    )
    assert (change["at"], change["local"]) == ("2026-11-27T05:00:00Z", "2026-11-27T00:00:00-05:00")
    assert (change["opened"], change["closed"], change["timezone"]) == (["sale"], ["night"], "America/New_York")


@pytest.mark.slow
def test_the_work_grows_with_the_changes_and_not_with_their_square(config: Path) -> None:
    """A week of changes every minute is shown in seconds. Four hours more may cost twice as much as two more."""
    often = OFFICE.replace("0 8 * * 1-5", "*/2 * * * *").replace("10h", "1m")
    config.write_text(text(often))

    def shown(until: str) -> int:
        code, out = run(config, "--since", "2026-11-01T00:00Z", "--until", f"2026-11-01T{until}Z")
        assert code == 0
        return len(out.splitlines())

    assert shown("07:59") == 8 * 60
    two, four, eight = (operations(partial(shown, until)) for until in ("01:59", "03:59", "07:59"))
    assert eight - four < 3 * (four - two)


def test_without_a_change_it_says_so(config: Path) -> None:
    code, out = run(config, "--since", "2026-11-28T12:00Z", "--until", "2026-11-28T13:00Z")
    assert (code, out) == (0, "no schedule changes a bound in this time; --until looks further ahead\n")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["shop"], 1, "no autoscaler 'shop'"),
        (["--until", "+2y"], 2, "must be at most 366d after --since"),
        (["--since", "2026-11-28T12:00Z", "--until", "2026-11-27T12:00Z"], 2, "must be before --until"),
        (["--since", "soon"], 2, "'soon' is not a valid time"),
        (["--since", "9999-12-31"], 2, "'9999-12-31' is not in the years 1970 to 8999"),
        (["--since", "0001-01-01"], 2, "'0001-01-01' is not in the years 1970 to 8999"),
        (["--until", "9999-12-31"], 2, "'9999-12-31' is not in the years 1970 to 8999"),
    ],
)
def test_a_wrong_argument_is_refused(config: Path, words: list[str], code: int, said: str) -> None:
    done, out = run(config, *words)
    assert done == code
    assert said in " ".join(out.split())


def test_a_window_inside_a_gap_of_the_clock_changes_nothing(config: Path) -> None:
    """The daemon never opens it. It was shown as a change that never comes back."""
    sale = '{start: "2026-03-29T02:10", end: "2026-03-29T02:50", timezone: Europe/Berlin, minReplicas: 15}'
    config.write_text(text(sale))
    code, out = run(config, "--since", "2026-03-28T00:00Z", "--until", "2026-03-31T00:00Z")
    assert (code, out) == (0, "no schedule changes a bound in this time; --until looks further ahead\n")
