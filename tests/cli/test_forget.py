"""`autoscaler forget`: what an operator types and reads."""

from tests.cli.scene import NOBODY, Scene


def test_a_forgotten_autoscaler_is_shown_no_more(offline: Scene) -> None:
    """The others are."""
    said = offline.run("forget", "web")
    assert (said.code, said.err) == (0, "")
    assert said.out == "web: forgotten, with fleet/web\n"
    assert "web" not in offline.run("get", "-o", "name", "--server", NOBODY).out.split()
    assert "jobs" in offline.run("get", "-o", "name", "--server", NOBODY).out.split()


def test_one_that_is_not_known_is_an_error(offline: Scene) -> None:
    """In one sentence that names the state."""
    said = offline.run("forget", "wbe")
    assert (said.code, said.out) == (1, "")
    assert "state.db knows nothing of an autoscaler 'wbe'" in said.err
