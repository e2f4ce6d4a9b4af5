"""`autoscaler reload`, which the systemd unit calls."""

from tests.cli.scene import Result, ServedScene


def reloaded(scene: ServedScene) -> Result:
    return scene.run("reload", "--server", f"unix://{scene.served.control_socket}")


def test_reload_returns_once_the_new_configuration_is_in_force(online: ServedScene) -> None:
    """`systemctl reload` waits for it."""
    before = online.daemon.reloads
    said = reloaded(online)
    assert (said.code, said.out, said.err) == (0, "reloaded\n", "")
    assert online.daemon.reloads == before + 1


def test_a_refused_reload_fails_and_lists_the_problems(online: ServedScene) -> None:
    """`systemctl status` shows these lines."""
    online.daemon.problems = ["a.yaml:3:5: it is wrong", "a.yaml:9:1: this too"]
    said = reloaded(online)
    assert (said.code, said.out) == (1, "")
    assert said.err.splitlines() == [
        "the reload was refused, and the previous configuration stays in force:",
        "a.yaml:3:5: it is wrong",
        "a.yaml:9:1: this too",
    ]


def test_the_overview_omits_reload(online: ServedScene) -> None:
    """Only the unit uses it, and it may change with the unit."""
    assert "reload" not in online.run("--help").out
