"""A replay as one HTML file that needs no network and no daemon.

Its content security policy allows its own style and script, by their hashes, and no address. So a name that got past
the escaping of the templates could not run anything.
"""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from autoscaler.web import page
from autoscaler.web.page.environment import environment
from autoscaler.whatif.compare.document import ReplayDocument
from autoscaler.whatif.compare.rows import fit_text, measure_rows, start_up_text
from autoscaler.whatif.past.past import FindingKind

_STATIC: Final = Path(page.__file__).parent / "static"
_SCRIPTS: Final = ("vendor/uplot/uPlot.iife.min.js", "times.js", "plots.js", "report.js")
"""In the order in which they need each other."""
_STYLES: Final = ("vendor/uplot/uPlot.min.css", "page.css")
_NOTHING_KNOWN: Final = (FindingKind.GAP, FindingKind.OUTAGE)
_IMPORT: Final = re.compile(r"^import .*$", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ", re.MULTILINE)


def report(replays: Sequence[ReplayDocument], made: datetime, version: str) -> str:
    """Return the report as a text of HTML. It shows the time `made`, and the `version` of this program."""
    script, style = _script(), _style()
    return environment().get_template("report.html").render(
        replays=replays,
        charts=[_chart(each) for each in replays],
        measure_rows=measure_rows,
        fit_text=fit_text,
        start_up_text=start_up_text,
        now=made,
        version=version,
        script=script,
        style=style,
        policy=(
            f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
            "base-uri 'none'; form-action 'none'"
        ),
    )  # fmt: skip


def _chart(replay: ReplayDocument) -> Mapping[str, Any]:
    """The data of the script."""
    return {
        "at": [each.timestamp() for each in replay.series.at],
        "load": replay.series.load,
        "unknown": [
            (each.begin.timestamp(), each.end.timestamp()) for each in replay.findings if each.kind in _NOTHING_KNOWN
        ],
        "candidates": [
            {"label": candidate.label, "size": size}
            for candidate, size in zip(replay.candidates, replay.series.sizes, strict=True)
        ],
    }


@cache
def _script() -> str:
    """The page's modules as one; their names do not clash."""
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", (_STATIC / name).read_text("utf-8"))) for name in _SCRIPTS)


@cache
def _style() -> str:
    return "\n".join((_STATIC / name).read_text("utf-8") for name in _STYLES)


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
