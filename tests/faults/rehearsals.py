"""Every rehearsal, by its name, in the order in which `make rehearse` runs them."""

from collections.abc import Mapping
from typing import Final

from tests.faults.rehearsal import Rehearsal

REHEARSALS: Final[Mapping[str, Rehearsal]] = {}
