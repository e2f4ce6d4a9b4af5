"""The bad days, a file for each kind."""

from collections.abc import Mapping, Sequence
from typing import Final

from rehearse.hostile.case import Case
from rehearse.hostile.cases import answers, clocks, names, sockets, users, writes

SECTIONS: Final[Mapping[str, Sequence[Case]]] = {
    "Answers": answers.CASES,
    "Sockets": (*sockets.CASES, *users.CASES),
    "Names and files": names.CASES,
    "Time": clocks.CASES,
    "Shards and writes": writes.CASES,
}
