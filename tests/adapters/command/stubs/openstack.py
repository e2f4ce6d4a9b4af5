"""`openstack server`, whose list has the columns that are asked for, as JSON of openstackclient 6 and newer.

Networks is an object: a network's name -> its addresses. A list with --limit is one page, which begins after --marker.
Tags need the compute API 2.26 in a list, and 2.52 for a new server.
"""

from typing import Any

from tests.adapters.command.stubs.groups import Groups, deleted, fail, number


def answer(groups: Groups, words: list[str], options: dict[str, str]) -> Any:
    tool, verb, *names = words
    assert (tool, options.pop("os-compute-api-version")) == ("server", "2.52")
    if verb == "delete":
        assert options == {}
        (server,) = names
        return None if deleted(groups, server) else fail(f"No server with a name or ID of '{server}' exists.")
    assert options.pop("format") == "json"
    key, _, group = options.pop("tags" if verb == "list" else "tag").partition(":")
    assert key == "autoscaler"
    if verb == "create":
        (name,) = names
        assert options == {"type": "cx23", "image": "debian-12"}
        groups.setdefault(group, []).append(name)
        return {"id": str(number(name)), "name": name, "status": "BUILD"}
    assert (verb, options.pop("no-name-lookup")) == ("list", "")
    columns, limit, marker = options.pop("column").split(","), int(options.pop("limit")), options.pop("marker", None)
    assert options == {}
    servers = [_server(each) for each in groups.get(group, [])]
    after = next((place + 1 for place, one in enumerate(servers) if one["ID"] == marker), 0)
    return [{column: one[column] for column in columns} for one in servers[after : after + limit]]


def _server(name: str) -> dict[str, Any]:
    return {
        "Created At": "2026-01-30T23:50:00Z",
        "Flavor": "m1.small",
        "ID": str(number(name)),
        "Name": name,
        "Networks": {"private": [f"10.0.{number(name) % 250}.2"]},
        "Status": "ACTIVE",
    }
