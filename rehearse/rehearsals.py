"""Every rehearsal, by its name, in the order in which `make rehearse` runs them."""

from collections.abc import Mapping
from typing import Final

from rehearse import answers, kills
from rehearse.day import rehearsal as day
from rehearse.hostile import rehearsal as hostile
from rehearse.hosts import rehearsal as hosts
from rehearse.machine import rehearsal as machine
from rehearse.rehearsal import Rehearsal

REHEARSALS: Final[Mapping[str, Rehearsal]] = {
    "hosts": Rehearsal("one leader and 2 standbys on one PostgreSQL: 12 x each of 15 faults", hosts.rehearse),
    "kill": Rehearsal("200 x kill -9, at random and at placed points of a write", kills.rehearse),
    "answers": Rehearsal("29 bad answers of a Prometheus, all at once, 20 times", answers.rehearse),
    "machine": Rehearsal("the machine's clock, sleep, disk and state", machine.rehearse),
    "day": Rehearsal("24 hours of 200 autoscalers in 24 minutes", day.rehearse),
    "hostile": Rehearsal("a good autoscaler beside hostile neighbours", hostile.rehearse),
}
