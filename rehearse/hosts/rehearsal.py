"""Three daemons on one PostgreSQL, with one fault after another: the fate of their writes, and the takeovers."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from rehearse.hosts.life import Outcome, endure, live
from rehearse.hosts.moments import MOMENTS, Moment
from rehearse.hosts.planted import found
from rehearse.hosts.plants import PLANTS
from rehearse.hosts.reconfigured import RECONFIGURED
from rehearse.hosts.scenarios import SCENARIOS, STAY
from rehearse.hosts.world import LEASE_SECONDS, running_world
from rehearse.rehearsal import Extent, Row

RUNS: Final = 12
KINDS: Final = (*SCENARIOS, *RECONFIGURED)
"""Each has a world of its own."""
_SHORT: Final = (("kill -9", MOMENTS.index(Moment.ANSWER)), ("SIGSTOP", MOMENTS.index(Moment.INTENT)))
"""Kinds and numbers of runs: daemons that lose the database have tests of their own, tests/daemon/test_hosts.py."""
_ALL_GO_ON: Final = (*STAY, *RECONFIGURED)
"""Kinds of faults without a takeover that is measured."""
_SHORT_LEASE_SECONDS: Final = 6.0
"""A busy machine may pause a healthy daemon for seconds, and its lease must not end then."""
_SHORT_PLANTS: Final = ("no lease check",)
_SHOWN: Final = 80
"""The shown characters of a finding about a planted bug."""


def rehearse(folder: Path, extent: Extent) -> Iterator[Row]:
    """Yield a row for each kind, then rows for all their writes and decisions, then one for each planted bug."""
    outcomes: list[Outcome] = []
    if extent.short:
        (folder / "world").mkdir()
        with running_world(folder / "world", seed=0, lease_seconds=_SHORT_LEASE_SECONDS) as world:
            outcomes.append(endure(world, "kill -9 and SIGSTOP", _SHORT))
        yield _of_kind(outcomes[0], None)
    else:
        for number, kind in enumerate(kind for kind in KINDS if extent.takes(kind)):
            home = folder / f"k{number}"
            home.mkdir()
            outcomes.append(live(kind, RUNS, home, seed=number))
            yield _of_kind(outcomes[-1], 2 * LEASE_SECONDS)
    if outcomes:
        yield from _of_all(outcomes)
    for number, bug in enumerate(_SHORT_PLANTS if extent.short else [bug for bug in PLANTS if extent.takes(bug)]):
        home = folder / f"p{number}"
        home.mkdir()
        findings = found(bug, home, _SHORT_LEASE_SECONDS)
        yield Row(
            1,
            f"the judge finds a planted bug: {bug}",
            findings[0].split("\n")[0][:_SHOWN] if findings else "nothing",
            [] if findings else ["what it did was found to be in order"],
        )


def _of_kind(outcome: Outcome, most: float | None) -> Row:
    """Yield rows about the takeovers. `most`: the longest one, in seconds; None: the machine has other work."""
    if outcome.kind in _ALL_GO_ON:
        through = outcome.runs - len(outcome.stuck)
        return Row(
            outcome.runs, f"{outcome.kind}: all go on by themselves", f"{through} of {outcome.runs}", outcome.stuck
        )
    if not outcome.takeovers:
        return Row(outcome.runs, f"{outcome.kind}: taken over", "no takeover", outcome.stuck or ["none was seen"])
    led = [each.led for each in outcome.takeovers]
    decided = [each.decided for each in outcome.takeovers]
    late = [f"{seconds:.1f} s" for seconds in decided if most is not None and seconds > most]
    within = "" if most is None else f" within 2 x leaseDuration ({most:g} s)"
    return Row(
        outcome.runs,
        f"{outcome.kind}: from the last renewal to decisions about all{within}",
        f"{_figures(decided)}; the lease taken {_figures(led)}",
        [*outcome.stuck, *late],
    )


def _figures(seconds: Sequence[float]) -> str:
    return f"after {statistics.median(seconds):.1f} s, at most {max(seconds):.1f} s"


def _of_all(outcomes: Sequence[Outcome]) -> Iterator[Row]:
    """Yield rows about the writes and decisions under all kinds of faults."""
    runs = sum(each.runs for each in outcomes)

    def row(promised: str, seen: str, broken: Callable[[Outcome], Sequence[str]], judged: int = 1) -> Row:
        """Return a row. `judged`: the number of judged cases; without any, the promise was not tested."""
        found = [f"{each.kind}: {text}" for each in outcomes for text in broken(each)]
        return Row(runs if judged else 0, promised, seen.format(broken=len(found)), found)

    accepted = sum(each.compared.accepted for each in outcomes)
    refused = sum(each.compared.refused for each in outcomes)
    yield row(
        "no double write where the back end compares and sets (Nomad)",
        f"{{broken}} of {accepted:,} writes; {refused} refused by Nomad",
        lambda each: each.compared.broken,
        accepted,
    )
    accepted = sum(each.uncompared.accepted for each in outcomes)
    late = sum(len(each.uncompared.late) for each in outcomes)
    yield row(
        "where it does not (AWS), none but of a request that was checked in time and arrived late",
        f"{late} of {accepted:,} writes were such, {{broken}} others",
        lambda each: each.uncompared.broken,
        accepted,
    )
    commits = sum(each.commits for each in outcomes)
    yield row(
        "nothing is committed by a daemon that does not lead",
        f"{{broken}} of {commits:,} commits of memories",
        lambda each: each.without_lead,
        commits,
    )
    decisions = sum(each.decisions for each in outcomes)
    yield row(
        "decisions are what decide gives from everything committed",
        f"{{broken}} of {decisions:,} are not",
        lambda each: each.decided_otherwise,
        decisions,
    )
    unrecorded = sum(each.unrecorded for each in outcomes)
    yield row(
        "a write whose outcome was not recorded is settled by who takes over, and no other is",
        f"{unrecorded} such writes, {{broken}} forgotten or invented",
        lambda each: each.unsettled,
    )
    changes = sum(each.changes for each in outcomes)
    yield row(
        "no window is forgotten, no policy exceeded",
        f"{{broken}} of {changes:,} changes",
        lambda each: each.exceeded,
        changes,
    )
