"""`pvesh`, which prints what Proxmox VE's API answers at a path; `create` and `delete` wait for the task they begin.

/cluster/resources lists guests, also containers, with `template`, `tags` (between semicolons), `lock` while one is
cloned, and `status` (running, stopped, unknown). A clone of a template inherits its tags and does not run. A machine
that runs cannot be deleted.
"""

from typing import Any

from tests.adapters.command.stubs.groups import Groups, fail, number

_TEMPLATES = {"web": 9000, "other": 9001}


def answer(groups: Groups, words: list[str], options: dict[str, str]) -> Any:
    verb, path = words
    numbers, stopped = groups.setdefault("numbers", {}), groups.setdefault("stopped", [])
    if (verb, path) == ("get", "/cluster/nextid"):
        assert options == {"output-format": "json"}
        return str(max(numbers.values(), default=99) + 1)
    if verb == "get":
        assert (path, options) == ("/cluster/resources", {"output-format": "json", "type": "vm"})
        return [
            *({**_guest(tag, template, tag, "stopped"), "template": 1} for tag, template in _TEMPLATES.items()),
            {"id": "lxc/100", "name": "mail", "node": "pve2", "status": "running", "type": "lxc", "vmid": 100},
            *(
                _guest(name, numbers.get(name, number(name)), tag, "stopped" if name in stopped else "running")
                for tag in _TEMPLATES
                for name in groups.get(tag, [])
            ),
        ]
    _, nodes, node, kind, known, *action = path.split("/")
    assert (nodes, node, kind) == ("nodes", "pve1", "qemu")
    if action == ["clone"]:
        (tag,) = (tag for tag, template in _TEMPLATES.items() if str(template) == known)
        name = options.pop("name")
        numbers[name] = int(options.pop("newid"))
        groups.setdefault(tag, []).append(name)
        stopped.append(name)
        assert options == {}
        return "UPID:pve1:0003F7E2:01B2C3D4:65F0A1B2:qmclone:9000:root@pam:"
    names = [name for tag in _TEMPLATES for name in groups.get(tag, [])]
    wanted = [name for name in names if str(numbers.get(name, number(name))) == known]
    if not wanted:
        fail(f"Configuration file 'nodes/pve1/qemu-server/{known}.conf' does not exist")
    return _changed(groups, wanted[0], [verb, *action])


def _changed(groups: Groups, name: str, words: list[str]) -> str:
    stopped = groups["stopped"]
    if words == ["create", "status", "start"]:
        stopped.remove(name)
    elif words == ["create", "status", "stop"]:
        stopped.append(name)
    elif name not in stopped:
        fail(f"VM {name} is running - destroy failed")
    else:
        assert words == ["delete"]
        stopped.remove(name)
        for tag in _TEMPLATES:
            groups[tag] = [one for one in groups.get(tag, []) if one != name]
    return "UPID:pve1:0003F7E3:01B2C3D5:65F0A1B3:qmtask::root@pam:"


def _guest(name: str, known: int, tag: str, status: str) -> dict[str, Any]:
    return {
        "id": f"qemu/{known}",
        "name": name,
        "node": "pve1",
        "status": status,
        "tags": f"autoscaler-{tag};debian",
        "template": 0,
        "type": "qemu",
        "uptime": 0 if status == "stopped" else 3600,
        "vmid": known,
    }
