"""The back end of the reference adapter: groups, one file each."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Self

from pydantic import AwareDatetime, BaseModel, ConfigDict

from autoscaler.target import files


class Group(BaseModel):
    """One group."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    revision: int = 0
    """Counts the changes."""
    born: int
    """Members created so far; the next member gets the following number."""
    members: Mapping[str, AwareDatetime | None]
    """Name -> start time; None: an initial member."""

    @classmethod
    def first(cls, name: str, size: int) -> Self:
        """Return a group that was never changed."""
        return cls(born=size, members={f"{name}-{number}": None for number in range(1, size + 1)})

    def resized(self, name: str, size: int, now: datetime, victims: Sequence[str] = ()) -> "Group":
        """Return the group with another size. Victims leave first, then the newest; new members get new numbers."""
        staying = list(self.members)
        while len(staying) > size:
            staying.remove(next((victim for victim in victims if victim in staying), staying[-1]))
        new = [f"{name}-{self.born + number}" for number in range(1, size - len(staying) + 1)]
        members = {member: self.members[member] for member in staying} | dict.fromkeys(new, now)
        return Group(revision=self.revision + 1, born=self.born + len(new), members=members)


class Groups:
    """A folder of groups. An operator who edits one of its files changes a size outside the adapter."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def file(self, name: str) -> Path:
        """Return the file of a group."""
        return self._folder / f"{name}.json"

    def read(self, name: str) -> Group | None:
        """Return the group, or None if it was never written. Raises OSError, and ValueError for an invalid file."""
        try:
            return Group.model_validate_json(self.file(name).read_bytes())
        except FileNotFoundError:
            return None

    def write(self, name: str, group: Group) -> None:
        """Replace the file in one step. Raises OSError."""
        files.write_atomically(self.file(name), group.model_dump_json(indent=1))
