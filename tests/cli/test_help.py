"""`--help`, and the answer to a mistyped command."""

import re
from collections.abc import Iterator, Sequence

import pytest
from typer.testing import CliRunner

from autoscaler.cli.app import COMMANDS, GROUPS, Commands, app
from tests.cli.scene import UNREACHABLE, ServedScene


def said(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments), prog_name="autoscaler", env={"COLUMNS": "200"})
    return result.exit_code, result.output


def sections(text: str) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the title and the rows of `Arguments` and `Options`, without continuation lines."""
    for title, body in re.findall(r"^(Arguments|Options):\n((?:  .*\n?)+)", text, re.MULTILINE):
        yield title, [line for line in body.splitlines() if not line.startswith("   ")]


def test_help_has_metavars_in_capitals_and_no_python_types() -> None:
    """A newcomer reads `FILE`, as in the documentation, not list[Path]; without it, `--min` looks like a switch."""
    for words in ((), *((name,) for name in COMMANDS)):
        code, text = said(*words, "--help")
        assert code == 0
        assert not re.search(r"list\[|<(?!=)|\{|\[\[|None|Path\b|range", text), words
        for title, rows in sections(text):
            for row in rows:
                if title == "Arguments":
                    assert re.match(r"  (\[[A-Z]+\]|[A-Z]+)(\.\.\.)?  +[A-Z]", row), row
                else:
                    assert re.match(r"  (-\w, |--[a-z]+, )?--[a-z.-]+( [A-Z]+([:/][A-Z]+)?)?(  +\S|$)", row), row
    for name in COMMANDS:
        params = Commands(name="autoscaler").get_command(None, name).params
        assert [each.name for each in params if not getattr(each, "is_flag", False) and not each.metavar] == []


def test_the_usage_line_marks_optional_and_repeated_arguments() -> None:
    first = {name: said(name, "--help")[1].splitlines()[0] for name in COMMANDS}
    assert first["get"] == "Usage: autoscaler get [OPTIONS] [NAME]..."
    assert first["describe"] == "Usage: autoscaler describe [OPTIONS] NAME"
    assert first["events"] == "Usage: autoscaler events [OPTIONS] [NAME]"
    assert first["import"] == "Usage: autoscaler import [OPTIONS] FILE..."


def test_defaults_are_shown() -> None:
    text = " ".join(said("history", "--help")[1].split())
    assert "[default: 1h]" in text
    assert "[default: now]" in text


def test_the_overview_has_every_command_in_its_group_and_the_options_of_the_connection_once() -> None:
    code, text = said("--help")
    titles = re.findall(r"^(\S.*):$", text, re.MULTILINE)
    assert (code, titles) == (0, [*GROUPS, "Options"])
    assert re.findall(r"^  ([a-z]+)  ", text, re.MULTILINE) == list(COMMANDS)
    assert "http://127.0.0.1:9797. [env var: AUTOSCALER_SERVER]" in " ".join(text.split())
    assert "It also accepts --server, --http.config.file, --config.file: see `autoscaler --help`." in " ".join(
        said("get", "-h")[1].split()
    )


@pytest.mark.parametrize(
    ("words", "same"), [(["-h"], ["--help"]), (["help"], ["--help"]), (["version"], ["--version"]),
                        (["help", "get"], ["get", "--help"]), (["get", "-h"], ["get", "--help"])]
)  # fmt: skip
def test_help_and_version_are_also_commands(words: Sequence[str], same: Sequence[str]) -> None:
    """Other programs have one or the other."""
    assert said(*words) == said(*same)
    assert said(*words)[0] == 0


@pytest.mark.parametrize(("typed", "near"), [("gett", "get"), ("desribe", "describe"), ("evnts", "events")])
def test_a_mistyped_command_is_refused_with_the_nearest(typed: str, near: str) -> None:
    code, text = said(typed)
    assert code == 2
    assert f"there is no command '{typed}'; did you mean {near}?" in text


def test_an_unknown_command_without_a_near_one_refers_to_help() -> None:
    code, text = said("zzzzzz")
    assert code == 2
    assert "there is no command 'zzzzzz'" in text
    assert "did you mean" not in text
    assert "autoscaler --help" in text


def test_options_may_stand_before_the_command(online: ServedScene) -> None:
    """Kubectl accepts them there."""
    url = online.env["AUTOSCALER_SERVER"]
    for words in (("--server", url, "get", "web"), (f"--server={url}", "describe", "web")):
        found = online.run(*words, AUTOSCALER_SERVER=UNREACHABLE)
        assert (found.code, found.err) == (0, ""), words


def test_an_option_after_the_command_takes_precedence(online: ServedScene) -> None:
    found = online.run("--server", UNREACHABLE, "get", "web", "--server", online.env["AUTOSCALER_SERVER"])
    assert (found.code, found.err) == (0, "")


@pytest.mark.parametrize("words", [("run", "--log.level=loud"), ("get", "-o", "xml")])
def test_an_invalid_choice_is_refused_with_the_choices(words: tuple[str, ...]) -> None:
    """The message is in the documentation's words, not in those of a library."""
    code, text = said(*words)
    assert code == 2
    assert " is not one of '" in text
    assert "Value error" not in text


def test_an_option_before_a_command_that_lacks_it_is_refused() -> None:
    code, text = said("--server", UNREACHABLE, "check")
    assert code == 2
    assert "No such option: --server" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_config_file_may_stand_before_every_command(name: str) -> None:
    """An alias that names the file works for all. `autoscaler --config.file FILE diff` did not know its own option."""
    code, text = said("--config.file", "/nowhere/autoscaler.yaml", name, "--help")
    assert (code, "No such option" in text) == (0, False), text


def test_config_file_may_stand_before_the_command() -> None:
    code, text = said("--config.file", "/nowhere/autoscaler.yaml", "check")
    assert code == 1
    assert "/nowhere/autoscaler.yaml" in text
