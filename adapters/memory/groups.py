"""The back end behind the reference adapter: groups that are written down, one file each, and nothing else."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Self

from pydantic import AwareDatetime, BaseModel, ConfigDict

from autoscaler.target.files import write_atomically


class Group(BaseModel):
    """What is known of one group."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    revision: int = 0
    """Rises with every change."""
    born: int
    """Members that there have ever been; the next one's number follows it."""
    members: Mapping[str, AwareDatetime | None]
    """Name -> when it was started; None: it was there from the first."""

    @classmethod
    def first(cls, name: str, size: int) -> Self:
        """One that was never changed."""
        return cls(born=size, members={f"{name}-{number}": None for number in range(1, size + 1)})

    def resized(self, name: str, size: int, now: datetime, victims: Sequence[str] = ()) -> "Group":
        """It with another size: named victims leave first, then the newest; new members are numbered on."""
        staying = list(self.members)
        while len(staying) > size:
            staying.remove(next((victim for victim in victims if victim in staying), staying[-1]))
        new = [f"{name}-{self.born + number}" for number in range(1, size - len(staying) + 1)]
        members = {member: self.members[member] for member in staying} | dict.fromkeys(new, now)
        return Group(revision=self.revision + 1, born=self.born + len(new), members=members)


class Groups:
    """A folder of groups. Whoever writes one of its files, changes a size behind the adapter's back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def file(self, name: str) -> Path:
        """Where a group is written down."""
        return self._folder / f"{name}.json"

    def read(self, name: str) -> Group | None:
        """None: never written. Raises OSError, and ValueError for what is not a group."""
        try:
            return Group.model_validate_json(self.file(name).read_bytes())
        except FileNotFoundError:
            return None

    def write(self, name: str, group: Group) -> None:
        """Whoever reads it finds the old group or the new one. Raises OSError."""
        write_atomically(self.file(name), group.model_dump_json(indent=1))
