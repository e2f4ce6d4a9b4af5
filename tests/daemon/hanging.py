"""A third party's adapter that hangs or is slow in the calls that its settings name. It is installed for one daemon."""

import sys
from pathlib import Path
from typing import Any, Final

_CODE: Final = '''
import itertools
import time
from pathlib import Path
from typing import ClassVar

from autoscaler.target import AdapterSettings, TargetState, Written

_CALLS = itertools.count(1)
_SIZES = {}


class Settings(AdapterSettings):
    """Of an adapter that hangs."""

    where: str = ""
    """The verb that hangs, or `build`; empty: none."""
    times: int = 1_000_000
    """How many of its calls do, in this process."""
    target: str = ""
    """Only calls about this target do."""
    seconds: float = 3600
    """How long such a call takes."""
    folder: str = ""
    """A call that hangs ends, too, when `release-N` is there: the Nth that hangs. `notes` says what happened."""
    kept: bool = False
    """Sizes are files in `folder`, which other daemons share, and a call of `scale` hangs after it has written."""
    label: str = ""
    """Another one makes the section another one."""


class Hanging:
    Settings: ClassVar = Settings

    def __init__(self, context):
        self._settings = context.settings
        self._hang("build", context.clock.now(), ())
        self._note("built", self._settings.label)

    def observe(self, targets, call):
        self._hang("observe", call.now, targets)
        return {target: TargetState(size, size, ()) for target in targets for size in (self._size(target.name),)}

    def scale(self, target, change, call):
        if self._settings.kept:
            self._write(target, change, call)
        self._hang("scale", call.now, (target,))
        if not self._settings.kept:
            self._write(target, change, call)
        return Written(change.size)

    def _size(self, name):
        file = Path(self._settings.folder, f"size-{name}")
        return int(file.read_text()) if self._settings.kept and file.exists() else _SIZES.get(name, 1)

    def _write(self, target, change, call):
        _SIZES[target.name] = change.size
        if self._settings.kept:
            Path(self._settings.folder, f"size-{target.name}").write_text(str(change.size))
        self._note("writes", target.name, change.size, call.now.isoformat())

    def _hang(self, verb, now, targets):
        wanted = self._settings.target
        if verb != self._settings.where or (wanted and wanted not in [target.name for target in targets]):
            return
        if (number := next(_CALLS)) > self._settings.times:
            return
        self._note("hangs", number, now.isoformat())
        end = time.monotonic() + self._settings.seconds
        while time.monotonic() < end and not Path(self._settings.folder, f"release-{number}").exists():
            time.sleep(0.02)
        self._note("returns", number, now.isoformat())

    def _note(self, *words):
        if self._settings.folder:
            with Path(self._settings.folder, "notes").open("a") as notes:
                notes.write(" ".join(map(str, words)) + "\\n")
'''


def install(folder: Path, name: str = "hanging", code: str = _CODE, kind: str = "Hanging") -> dict[str, str]:
    """Put the adapter type `name`, a class `kind` of this code, into `folder`.

    Returns the environment of a daemon that finds it.
    """
    site = folder / "site"
    info = site / f"{name}_adapter-1.0.dist-info"
    info.mkdir(parents=True)
    (site / f"{name}_adapter.py").write_text(code)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-adapter\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[autoscaler.adapters]\n{name} = {name}_adapter:{kind}\n")
    return {"PYTHONPATH": ":".join([str(site), *filter(None, sys.path)])}


class ThirdParty:
    """The adapter of one daemon, seen from outside. Its connection is `third`."""

    def __init__(self, folder: Path) -> None:
        self.env = install(folder)
        self._folder = folder

    def section(self, where: str = "", **more: Any) -> dict[str, Any]:
        """Return a section of the configuration's `adapters`."""
        return {"third": {"type": "hanging", "where": where, "folder": str(self._folder)} | more}

    def release(self, number: int) -> None:
        """End the `number`th hanging call."""
        (self._folder / f"release-{number}").touch()

    def notes(self, *words: object) -> list[list[str]]:
        """Return the notes that begin with these words: `hangs N now`, `returns N now`, `writes name size now`."""
        file = self._folder / "notes"
        lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
        return [line for line in lines if line[: len(words)] == [str(word) for word in words]]
