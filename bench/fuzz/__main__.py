"""A million inputs for every parser of foreign text: `python -m bench.fuzz`."""

import multiprocessing
import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from bench.fuzz.run import Found, numbers_of, run
from bench.fuzz.targets import TARGETS

MEMORY_GROWTH_MEBIBYTES: Final = 20
"""Growth in MiB from a quarter of the inputs to the end; 3 MiB were measured."""
_LINE: Final = "{:<14}{:>11}{:>9}{:>14}{:>18}{:>10}"


def main(arguments: Sequence[str]) -> int:
    """Print the table. Return 1 if there is a defect."""
    parser = ArgumentParser(prog="python -m bench.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="in all; default: 1,000,000")
    parser.add_argument("--seed", type=int, default=1, help="other seeds make other inputs; default: 1")
    parser.add_argument("--target", choices=list(TARGETS), help="only this one")
    parser.add_argument("--only", type=int, help="only the input of this number; with --target")
    asked = parser.parse_args(arguments)
    wanted = list(TARGETS) if asked.target is None else [asked.target]
    only = [] if asked.only is None else [asked.only]
    work = {
        name: numbers_of(only, 0, round(asked.inputs * (TARGETS[name][1] if asked.target is None else 1)))
        for name in wanted
    }
    print(_LINE.format("", "inputs", "taken", "slowest", "memory", "defects"))
    # each target in a process of its own: memory is counted for it alone
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), context, max_tasks_per_child=1) as pool:
        results = [pool.submit(run, name, asked.seed, numbers) for name, numbers in work.items()]
        found = [_shown(result.result()) for result in results]
    print(
        _LINE.format(
            "all", f"{sum(each.inputs for each in found):,}", "", "", "", sum(len(each.defects) for each in found)
        )
    )
    problems = [line for each in found for line in _problems(each)]
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


def _shown(found: Found) -> Found:
    print(
        _LINE.format(
            found.target,
            f"{found.inputs:,}",
            f"{found.taken / max(1, found.inputs):.0%}",
            f"{found.slowest_seconds:.2f} s",
            f"{found.quarter_mebibytes:.0f} -> {found.end_mebibytes:.0f} MiB",
            len(found.defects),
        ),
        flush=True,
    )
    return found


def _problems(found: Found) -> Iterator[str]:
    for defect in found.defects:
        yield f"{found.target}: {defect}"
    grown = found.end_mebibytes - found.quarter_mebibytes
    if grown > MEMORY_GROWTH_MEBIBYTES:
        yield f"{found.target}: memory has grown by {grown:.0f} MiB (at most {MEMORY_GROWTH_MEBIBYTES})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
