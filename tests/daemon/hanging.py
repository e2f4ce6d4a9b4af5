"""A third party's adapter that hangs where its settings say, installed for one daemon."""

import sys
from pathlib import Path
from typing import Final

_CODE: Final = '''
import time
from typing import ClassVar

from autoscaler.model import TargetState
from autoscaler.target import AdapterSettings


class Settings(AdapterSettings):
    """`where`: the verb that never comes back."""

    where: str


class Hanging:
    Settings: ClassVar = Settings
    target_keys: ClassVar[frozenset[str]] = frozenset()

    @staticmethod
    def target_problem(target, settings):
        return None

    def __init__(self, context):
        self._where = context.settings.where

    def observe(self, targets, call):
        if self._where == "observe":
            time.sleep(3600)
        return {target: TargetState(1, 1, ()) for target in targets}

    def scale(self, target, change, call):
        time.sleep(3600)
'''


def install(folder: Path) -> dict[str, str]:
    """Put the adapter type `hanging` into `folder`; the environment that a daemon finds it with."""
    site = folder / "site"
    info = site / "hanging_adapter-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "hanging_adapter.py").write_text(_CODE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hanging-adapter\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[autoscaler.adapters]\nhanging = hanging_adapter:Hanging\n")
    return {"PYTHONPATH": ":".join([str(site), *filter(None, sys.path)])}
