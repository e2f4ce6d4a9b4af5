"""What the page says about the daemons that share a state."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from autoscaler.record.daemons import Daemons, Leader
from tests.decide.build import QUEUE_15, scaler
from tests.decisions import NOW
from tests.view.lives import Recorded, open_state
from tests.web.serving import Daemon, Served, serving

LEADER = Leader(
    name="one, <b>pid</b> 7",
    host="one",
    version="1.2.3",
    since=NOW - timedelta(hours=3),
    until=NOW + timedelta(seconds=12),
    loaded=NOW,
    digest="another",
)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Served]:
    """The page of a daemon that stands by, or of an SQLite state's."""
    with open_state(tmp_path) as state:
        life = Recorded(state.ledger("fleet"), scaler(QUEUE_15))
        life.queue(45)
        daemon = Daemon(state, [life.autoscaler])
        daemon.clock.wall = life.now
        with serving(daemon) as served:
            yield served


def share(site: Served, monkeypatch: pytest.MonkeyPatch, leader: Leader | None, *standbys: str) -> None:
    """Make the state one that several daemons share."""
    archive = site.daemon.state.archive
    monkeypatch.setattr(archive, "is_led", lambda: leader is not None)
    monkeypatch.setattr(archive, "daemons", lambda: Daemons(NOW, leader, standbys))


def test_the_list_says_that_no_daemon_leads(site: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks as if all were well otherwise: the last decisions stay."""
    assert "No daemon leads" not in site.get("/").text
    share(site, monkeypatch, None, "two, pid 8")
    assert "No daemon leads, so sizes stay as they are." in site.get("/").text
    assert site.data("/api/v1/autoscalers")["led"] is False


def test_the_status_lists_the_leader_and_the_standbys(site: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names come from other daemons, so they are no markup."""
    assert "Daemons that share the state" not in site.get("/status").text
    share(site, monkeypatch, LEADER, "two, pid 8")
    page = site.get("/status").text
    assert '<th scope="row">one, &lt;b&gt;pid&lt;/b&gt; 7</th><td>leads</td>' in page
    assert '<th scope="row">two, pid 8</th><td>stands by</td>' in page
    assert "No daemon leads" not in page


def test_the_status_says_that_the_leaders_configuration_differs(site: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A takeover would change sizes."""
    share(site, monkeypatch, LEADER)
    assert "The leader has loaded another configuration" in site.get("/status").text
    share(site, monkeypatch, replace(LEADER, digest=site.daemon.settings.digest))
    assert "The leader has loaded another configuration" not in site.get("/status").text
