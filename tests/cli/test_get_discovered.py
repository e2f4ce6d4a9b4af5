"""`autoscaler get --discovered` lists the files of teams and the policies that the daemon has discovered."""

import json
import re
from collections.abc import Iterator

import pytest

from autoscaler.view.discovered import DiscoveredList, DiscoveringConnection
from tests.cli.scene import Scene, ServedScene
from tests.metrics.exposed import DISCOVERED


@pytest.fixture
def discovering(online: ServedScene) -> Iterator[ServedScene]:
    """A daemon that has discovered two policies, and refused one."""
    online.daemon.discovered = DISCOVERED
    yield online
    online.daemon.discovered = DiscoveredList()


def test_each_file_and_policy_has_a_row(discovering: ServedScene) -> None:
    """Refused ones say why; on stderr is of what nothing new is known."""
    said = discovering.run("get", "--discovered")
    assert said.code == 0
    assert [re.split(r" {2,}", line.rstrip()) for line in said.lines] == [
        ["ORIGIN", "AUTOSCALER", "STATE", "WHY"],
        ["autoscalers.d/shop/web.yaml", "shop-web", "scaled", "2:1: invalid YAML"],
        ["nomad/pay/api/api", "pay.api.api", "dry run"],
        ["nomad/pay/web/web", "pay.web.web", "scaled"],
        ["nomad/shop/<b>/q", "<none>", "refused", "check <c>: it is left out"],
    ]
    assert said.err == "connection nomad: shop: HTTP 403\n"


def test_wide_shows_where_autoscalers_differ(discovering: ServedScene) -> None:
    """The daemon scales them all the same."""
    assert any(
        line.rstrip().endswith("cooldown") for line in discovering.run("get", "--discovered", "-o", "wide").lines
    )


def test_json_has_everything(discovering: ServedScene) -> None:
    """For programs."""
    said = json.loads(discovering.run("get", "--discovered", "-o", "json").out)
    assert said["policies"][0] == {
        "target": "nomad/pay/api/api",
        "autoscaler": "pay.api.api",
        "dryRun": True,
        "refused": None,
        "differences": ["cooldown"],
    }


def test_nothing_to_discover_is_said(online: ServedScene) -> None:
    """An empty table would not tell whether discovery is on."""
    assert online.run("get", "--discovered").err == "no connection has `discover`\n"


def test_a_connection_that_has_not_answered_yet_is_named(online: ServedScene) -> None:
    """Its policies are not missing."""
    online.daemon.discovered = DiscoveredList(
        connections=(DiscoveringConnection(name="nomad", at=None, found=0, refused=0, failing=0, failures=()),)
    )
    try:
        assert "its autoscalers are not read yet" in online.run("get", "--discovered").err
    finally:
        online.daemon.discovered = DiscoveredList()


def test_without_a_daemon_it_says_that_only_a_daemon_knows(offline: Scene) -> None:
    """The state has autoscalers, not policies."""
    said = offline.run("get", "--discovered")
    assert said.code == 1
    assert "the state does not have the discovered autoscalers; start the daemon" in said.err


@pytest.mark.parametrize("more", [["web"], ["-l", "team=shop"], ["-w"], ["-o", "name"], ["-o", "size"]])
def test_options_of_the_other_list_are_refused(online: ServedScene, more: list[str]) -> None:
    """They would have no effect."""
    assert online.run("get", "--discovered", *more).code == 2
