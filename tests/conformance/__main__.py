"""`python -m tests.conformance FILE...`: exits 1 when a step differs from the real controller's answer."""

import sys
from itertools import islice
from pathlib import Path

from tests.conformance.compare import differences
from tests.conformance.scenario import read

SHOWN = 20


def main(files: list[str]) -> int:
    if not files:
        print("usage: python -m tests.conformance FILE...", file=sys.stderr)
        return 2
    scenarios = steps = differing = 0
    shown: list[str] = []
    for file in files:
        try:
            for scenario in read(Path(file)):
                scenarios += 1
                steps += len(scenario.steps)
                found = list(differences(scenario))
                differing += len({difference.step for difference in found})
                shown += map(str, islice(found, SHOWN - len(shown)))
        except (OSError, ValueError, KeyError) as error:
            print(f"{file}: no scenario file: {type(error).__name__}: {error}", file=sys.stderr)
            return 2
    print(f"{scenarios} scenarios, {steps} steps, {differing} differ")
    print(*shown, sep="\n", end="\n" if shown else "")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
