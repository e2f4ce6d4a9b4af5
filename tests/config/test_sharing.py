"""What several daemons that share a state are configured with."""

from datetime import timedelta

from autoscaler.config import HaSettings
from tests.config.conftest import Load


def test_the_name_of_a_pools_host_is_the_houses_own_key(load_text: Load) -> None:
    """The adapter, whose settings refuse what they do not know, never sees it; one with a `host` of its own does."""
    settings = load_text(
        "autoscalers: []\nstate: {url: 'postgresql://db/a'}\n"
        "adapters: {a: {type: process, host: vm-1, pools: {web: {command: x}}}, b: {type: docker-swarm, host: 'tcp://b:1'}}\n"
    )
    assert [settings.adapters[name].host for name in ("a", "b")] == ["vm-1", None]
    assert settings.adapters["b"].settings.host == "tcp://b:1"  # type: ignore[attr-defined]  # the adapter's own settings


def test_leases_are_as_long_as_kubernetes_leader_election_has_them(load_text: Load) -> None:
    """Unless the file says otherwise."""
    shared = "autoscalers: []\nstate: {url: 'postgresql://db/a'}\n"
    assert load_text(shared).ha == HaSettings(timedelta(seconds=15), timedelta(seconds=10), timedelta(seconds=2))
    assert load_text(shared + "ha: {leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}\n").ha == HaSettings(
        timedelta(seconds=3), timedelta(seconds=2), timedelta(milliseconds=500)
    )
