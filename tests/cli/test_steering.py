"""`pause`, `resume` and `override` use the API only."""

from pathlib import Path

import pytest

from autoscaler.model import Direction
from tests.cli.scene import Scene, ServedScene, steering
from tests.replaced import replace
from tests.web.unix import THIS_USER


def test_a_pause_records_the_user_and_the_reason(online: ServedScene) -> None:
    said = online.run("pause", "web", "--direction", "in", "--for", "2h", "--reason", "deploy")
    assert (said.code, said.err) == (0, "")
    assert said.out == "web: scaling in is paused for 2h\n"
    pause = steering(online).pause
    assert (pause.direction, pause.reason) == (Direction.IN, "deploy")
    assert (pause.until - pause.since).total_seconds() == 7200
    assert pause.by == THIS_USER


@pytest.mark.parametrize(("word", "direction"), [("up", "out"), ("out", "out"), ("down", "in"), ("in", "in")])
def test_up_and_down_are_other_words_for_out_and_in(online: ServedScene, word: str, direction: str) -> None:
    """HPA scales up and down, and its `behavior` is written so."""
    assert online.run("pause", "web", "--direction", word).code == 0
    assert steering(online).pause.direction is Direction(direction)
    online.run("resume", "web")


@pytest.mark.parametrize("command", ["reload", "resign", "pause jobs"])
def test_a_refusal_over_tcp_says_how_the_control_socket_is_reached(online: ServedScene, command: str) -> None:
    """It named `pause` to an operator who had typed `reload`, on the daemon's own machine."""
    said = online.run(*command.split(), AUTOSCALER_SERVER=online.served.server.url)
    assert (said.code, said.out) == (1, "")
    assert said.err.endswith("with --config.file and without --server and $AUTOSCALER_SERVER\n")


def test_by_default_both_directions_pause_until_resumed(online: ServedScene) -> None:
    assert online.run("pause", "web").out == "web: scaling is paused until it is resumed\n"
    assert online.run("resume", "web").out == "web: resumed; no pause or override is in force\n"
    assert steering(online) is None


def test_override_sets_one_bound_and_keeps_the_other(online: ServedScene) -> None:
    said = online.run("override", "web", "--min", "4", "--for", "90m", "--reason", "sale")
    assert said.code == 0
    assert said.out == "web: min 4 in force for 90m\n", "as the user wrote it"
    override = steering(online).override
    assert (override.minimum, override.maximum, override.reason) == (4, None, "sale")


def test_a_pause_of_all_says_the_duration_as_it_was_written(online: ServedScene) -> None:
    """`60m`, or `59m59s`, looks like another request."""
    assert online.run("pause", "--all", "--for", "1h").out.endswith("autoscalers: scaling is paused for 1h\n")
    online.run("resume", "--all")


def test_resume_can_end_only_the_pause_or_the_override(online: ServedScene) -> None:
    online.run("pause", "web")
    online.run("override", "web", "--max", "5")
    assert online.run("resume", "web", "--pause").out == "web: max 5 in force until it is resumed\n"
    assert online.run("resume", "web", "--override").out == "web: resumed; no pause or override is in force\n"


def test_a_refusal_of_the_daemon_has_no_socket_in_front(online: ServedScene) -> None:
    """The daemon's words name what is wrong; an address before them looks like the cause."""
    said = online.run("override", "web", "--min", "20")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("the minimum 20 ")


def test_a_minimum_above_the_maximum_is_refused_without_a_daemon(offline: Scene) -> None:
    said = offline.run("override", "web", "--min", "5", "--max", "2")
    assert (said.code, said.out) == (2, "")
    assert "--min 5 is above --max 2; lower --min, or raise --max" in " ".join(said.err.replace("│", "").split())


def test_invalid_arguments_exit_2(online: ServedScene) -> None:
    spans = [f"{words} --for {span}" for words in ("pause web", "pause --all") for span in ("soon", "0", "-1h")]
    for words in (
        *spans,
        "override web --min -1",
        "override web --max 0",
        "pause web --direction sideways",
        "pause web --all",
        "pause --all -l team=shop",
        "resume web -l team=shop",
        "pause -l team=shop,",
        "pause -l ,",
    ):
        said = online.run(*words.split())
        assert (said.code, said.out) == (2, ""), words


def labelled(online: ServedScene) -> None:
    web, *others = online.daemon.scalers
    online.daemon.scalers = [replace(web, labels=(("team", "shop"),)), *others]


def test_all_pauses_every_autoscaler_and_lists_them(online: ServedScene) -> None:
    """One request changes all of them."""
    said = online.run("pause", "--all", "--reason", "wrong release")
    until = "scaling is paused until it is resumed"
    assert said.lines == [*(f"{name}: {until}" for name in ("broken", "jobs", "web")), f"3 autoscalers: {until}"]
    assert steering(online, "jobs").pause.reason == "wrong release"
    assert online.run("resume", "--all").lines[-1] == "3 autoscalers: resumed"
    assert steering(online, "jobs") is None


def test_a_selector_pauses_the_matching_autoscalers(online: ServedScene) -> None:
    labelled(online)
    assert online.run("pause", "-l", "team=shop", "--direction", "in").lines == [
        "web: scaling in is paused until it is resumed",
        "1 autoscaler: scaling in is paused until it is resumed",
    ]
    assert steering(online, "jobs") is None
    said = online.run("pause", "-l", "team=mail")
    assert (said.code, said.out) == (1, "")
    assert "no autoscaler's labels match 'team=mail'" in said.err


def test_every_duration_is_accepted(online: ServedScene) -> None:
    for span in ("1s", "90m", "1h30m15s", "20d", "3w", "2y", "11y"):
        assert online.run("pause", "web", "--for", span).code == 0, span


def test_without_a_daemon_steering_is_refused(offline: Scene) -> None:
    """No daemon would act on it."""
    for words in (("pause", "web"), ("pause", "--all"), ("resume", "web"), ("override", "web", "--min", "3")):
        said = offline.run(*words)
        assert (said.code, said.out) == (1, "")
        assert said.err == (
            "no daemon answers at http://127.0.0.1:1 (connection refused), and only a daemon can do this; start it, or "
            "name it with --config.file, --server or $AUTOSCALER_SERVER\n"
        )


def test_a_remedy_does_not_name_an_option_that_was_given(offline: Scene, tmp_path: Path) -> None:
    """It did not help."""
    config = tmp_path / "autoscaler.yaml"
    config.write_text("{}\n")
    said = offline.run("pause", "web", "--config.file", str(config))
    assert said.err.endswith("start it, or name it with --server or $AUTOSCALER_SERVER\n")
