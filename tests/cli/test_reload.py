"""`autoscaler reload`, which the service's unit calls."""

from tests.cli.scene import NOBODY, Said, ServedScene


def reloaded(scene: ServedScene) -> Said:
    return scene.run("reload", "--server", f"unix://{scene.served.control_socket}")


def test_it_returns_once_the_new_configuration_is_in_force(online: ServedScene) -> None:
    """`systemctl reload` waits for it."""
    before = online.daemon.reloads
    said = reloaded(online)
    assert (said.code, said.out, said.err) == (0, "", "")
    assert online.daemon.reloads == before + 1


def test_what_the_daemon_refuses_fails_the_command_with_each_problem(online: ServedScene) -> None:
    """Its lines are what `systemctl status` shows."""
    online.daemon.problems = ["a.yaml:3:5: it is wrong", "a.yaml:9:1: this too"]
    said = reloaded(online)
    assert (said.code, said.out) == (1, "")
    assert said.err.splitlines() == [
        "the reload was refused, and the previous configuration stays in force:",
        "a.yaml:3:5: it is wrong",
        "a.yaml:9:1: this too",
    ]


def test_a_daemon_that_cannot_be_asked_fails_the_command(online: ServedScene) -> None:
    """One that is down, and one that lets this client only read."""
    down = online.run("reload", "--server", NOBODY)
    assert (down.code, down.out) == (1, "")
    assert "no daemon answers at http://127.0.0.1:1" in down.err
    before = online.daemon.reloads
    refused = online.run("reload", "--server", online.served.server.url)
    assert (refused.code, refused.out) == (1, "")
    assert " refused: " in refused.err
    assert online.daemon.reloads == before


def test_no_overview_lists_it(online: ServedScene) -> None:
    """It is for the unit, and may change with it."""
    assert "reload" not in online.run("--help").out
