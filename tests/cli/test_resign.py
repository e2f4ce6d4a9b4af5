"""`autoscaler resign`, with which an operator lets another daemon lead."""

from tests.cli.scene import ServedScene


def test_resign_returns_once_the_daemon_leads_no_more(online: ServedScene) -> None:
    """A script stops or upgrades the daemon then."""
    before = online.daemon.resignations
    said = online.run("resign")
    assert (said.code, said.out, said.err) == (0, "resigned\n", "")
    assert online.daemon.resignations == before + 1


def test_a_refused_resignation_fails_with_the_reason(online: ServedScene) -> None:
    """It names the daemon to ask."""
    online.daemon.problems = ["this daemon stands by; the leader is one, pid 7"]
    said = online.run("resign")
    assert (said.code, said.out) == (1, "")
    assert "this daemon stands by; the leader is one, pid 7" in said.err
