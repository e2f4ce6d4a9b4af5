"""`hcloud server`, which prints servers as Hetzner Cloud's API has them ("Get all Servers"), all pages of a list.

It names an error's code in parentheses.
"""

from typing import Any

from tests.adapters.command.stubs.groups import Groups, deleted, fail, number


def answer(groups: Groups, words: list[str], options: dict[str, str]) -> Any:
    tool, verb, *names = words
    assert tool == "server"
    if verb == "list":
        assert options.pop("output") == "json"
        key, _, name = options.pop("selector").partition("=")
        assert (key, options) == ("autoscaler", {})
        return [_server(each) for each in groups.get(name, [])]
    if verb == "create":
        key, _, name = options.pop("label").partition("=")
        groups.setdefault(name, []).append(options.pop("name"))
        assert (key, options) == ("autoscaler", {"type": "cx23", "image": "debian-12"})
        return None
    assert (verb, options) == ("delete", {})
    (server,) = names
    return None if deleted(groups, server) else fail(f"hcloud: Server not found: {server}")


def _server(name: str) -> Any:
    known = number(name)
    return {
        "created": "2026-01-30T23:50:00Z",
        "id": known,
        "labels": {"autoscaler": "web"},
        "locked": False,
        "name": name,
        "private_net": [{"alias_ips": [], "ip": f"10.0.{known % 250}.2", "mac_address": "", "network": 1}],
        "protection": {"delete": False, "rebuild": False},
        "public_net": {"ipv4": {"blocked": False, "ip": f"192.0.2.{known % 250}"}, "ipv6": {"ip": "2001:db8::/64"}},
        "status": "running",
    }
