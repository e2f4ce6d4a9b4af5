"""The bad days, a file for each kind."""

from collections.abc import Mapping, Sequence
from typing import Final

from tests.faults.hostile.case import Case
from tests.faults.hostile.cases import answers, clocks, names, sockets, users, writes

SECTIONS: Final[Mapping[str, Sequence[Case]]] = {
    "Answers": answers.CASES,
    "Sockets": (*sockets.CASES, *users.CASES),
    "Names and files": names.CASES,
    "Time": clocks.CASES,
    "Shards and writes": writes.CASES,
}
