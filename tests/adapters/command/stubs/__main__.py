"""`python -m tests.adapters.command.stubs TOOL STATE WORDS…` stands for that tool; STATE is a JSON file of groups."""

import fcntl
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def main(tool: str, file: Path, *words: str) -> Any:
    plain = [word for word in words if not word.startswith("--")]
    options: dict[str, str] = {}
    for option in (word[2:] for word in words if word.startswith("--")):
        name, _, value = option.partition("=")
        options[name] = f"{options[name]},{value}" if name in options else value
    with (file.parent / "lock").open("w") as lock:  # the program may call it several times at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        groups = json.loads(file.read_text())
        answer = import_module(f"tests.adapters.command.stubs.{tool}").answer(groups, plain, options)
        file.write_text(json.dumps(groups))
    return answer


if __name__ == "__main__":
    found = main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
    if found is not None:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
