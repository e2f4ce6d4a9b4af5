"""`doctl compute droplet`, which prints droplets as DigitalOcean's API has them ("List All Droplets"), all pages."""

from typing import Any

from tests.adapters.command.stubs.groups import Groups, deleted, fail, number


def answer(groups: Groups, words: list[str], options: dict[str, str]) -> Any:
    *tool, verb = words[:3]
    assert tool == ["compute", "droplet"]
    if verb == "delete":
        assert options == {"force": ""}
        (droplet,) = words[3:]
        return None if deleted(groups, droplet) else fail(f"Error: DELETE …/{droplet}: 404 not found")
    assert options.pop("output") == "json"
    key, _, group = options.pop("tag-name").partition(":")
    assert key == "autoscaler"
    if verb == "create":
        assert options == {"type": "cx23", "image": "debian-12"}
        (name,) = words[3:]
        groups.setdefault(group, []).append(name)
        return [_droplet(name)]
    assert (verb, options) == ("list", {})
    return [_droplet(each) for each in groups.get(group, [])]


def _droplet(name: str) -> Any:
    known = number(name)
    networks = [{"ip_address": f"10.0.{known % 250}.2", "netmask": "255.255.0.0", "type": "private"}]
    return {
        "created_at": "2026-01-30T23:50:00Z",
        "id": known,
        "locked": False,
        "name": name,
        "networks": {"v4": networks},
        "status": "active",
        "tags": ["autoscaler:web"],
    }
