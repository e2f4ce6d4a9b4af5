"""`python -m tests.rules.without RULE ARGUMENTS...`: the command `autoscaler` in a build that lacks a rule."""

import sys

from autoscaler import rules


def main(name: str, arguments: list[str]) -> None:
    """Take the rule out of the list before anything else reads it, and run the command."""
    left = tuple([kind for kind in rules.RULES if kind.name != name])
    assert len(left) == len(rules.RULES) - 1, f"there is no rule {name!r}"
    rules.RULES = left  # type: ignore[misc]  # that is the test
    from autoscaler.__main__ import main as autoscaler

    sys.argv = ["autoscaler", *arguments]
    autoscaler()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
