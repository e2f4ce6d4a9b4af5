"""`autoscaler forget`."""

from tests.cli.scene import UNREACHABLE, Scene


def test_get_no_longer_shows_a_forgotten_autoscaler(offline: Scene) -> None:
    said = offline.run("forget", "web")
    assert (said.code, said.err) == (0, "")
    assert said.out == "web: forgotten, with fleet/web\n"
    assert "web" not in offline.run("get", "-o", "name", "--server", UNREACHABLE).out.split()
    assert "jobs" in offline.run("get", "-o", "name", "--server", UNREACHABLE).out.split()


def test_forgetting_an_unknown_autoscaler_is_an_error(offline: Scene) -> None:
    """The message names the state."""
    said = offline.run("forget", "wbe")
    assert (said.code, said.out) == (1, "")
    assert "state.db knows nothing of an autoscaler 'wbe'" in said.err
