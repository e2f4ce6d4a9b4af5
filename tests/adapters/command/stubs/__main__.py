"""`python -m tests.adapters.command.stubs TOOL STATE WORDS…` stands for that tool; STATE is a JSON file of groups.

Tests start it hundreds of times, so the stubs import only what loads quickly.
"""

import fcntl
import json
import sys
from importlib import import_module
from typing import Any


def main(tool: str, file: str, *words: str) -> Any:
    plain = [word for word in words if not word.startswith("--")]
    options: dict[str, str] = {}
    for option in (word[2:] for word in words if word.startswith("--")):
        name, _, value = option.partition("=")
        options[name] = f"{options[name]},{value}" if name in options else value
    with open(file, "r+") as state:  # noqa: PTH123 - pathlib loads slowly
        fcntl.flock(state, fcntl.LOCK_EX)  # the program may call it several times at once
        groups = json.load(state)
        answer = import_module(f"tests.adapters.command.stubs.{tool}").answer(groups, plain, options)
        state.seek(0)
        state.truncate()
        json.dump(groups, state)
    return answer


if __name__ == "__main__":
    found = main(*sys.argv[1:])
    if found is not None:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
