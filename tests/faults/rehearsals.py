"""Every rehearsal, by its name, in the order in which `make rehearse` runs them."""

from collections.abc import Mapping
from typing import Final

from tests.faults import answers, kills
from tests.faults.day import rehearsal as day
from tests.faults.hostile import rehearsal as hostile
from tests.faults.hosts import rehearsal as hosts
from tests.faults.machine import rehearsal as machine
from tests.faults.rehearsal import Rehearsal

REHEARSALS: Final[Mapping[str, Rehearsal]] = {
    "hosts": Rehearsal("one leader and 2 standbys on one PostgreSQL: 12 x each of 15 faults", hosts.rehearse),
    "kill": Rehearsal("200 x kill -9, at random and at placed points of a write", kills.rehearse),
    "answers": Rehearsal("29 bad answers of a Prometheus, all at once, 20 times", answers.rehearse),
    "machine": Rehearsal("the machine's clock, sleep, disk and state", machine.rehearse),
    "day": Rehearsal("24 hours of 200 autoscalers in 24 minutes", day.rehearse),
    "hostile": Rehearsal("a good autoscaler beside hostile neighbours", hostile.rehearse),
}
