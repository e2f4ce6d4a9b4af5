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


def test_resign_fails_without_permission(online: ServedScene) -> None:
    """Anyone could stop the scaling otherwise, one daemon after another."""
    before = online.daemon.resignations
    said = online.run("resign", "--server", online.served.server.url)
    assert (said.code, said.out) == (1, "")
    assert "this client may only read here, because web.operators does not name it" in said.err
    assert online.daemon.resignations == before
