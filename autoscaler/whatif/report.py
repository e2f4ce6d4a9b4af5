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
from typing import Any, Final, NamedTuple, TypeAlias

from autoscaler.documents.explanation import Explanation
from autoscaler.web import page
from autoscaler.web.page.environment import environment
from autoscaler.whatif.documents.measured import LOAD_MEANINGS, MeasureRow, instance_times_text, measure_rows
from autoscaler.whatif.documents.replay import ReplayDocument
from autoscaler.whatif.past.past import FindingKind
from autoscaler.whatif.replay.course import Change

_STATIC: Final = Path(page.__file__).parent / "static"
_LIBRARY: Final = "vendor/uplot/uPlot.esm.js"
_LIBRARY_EXPORT: Final = "export { uPlot as default };"
_MODULES: Final = ("times.js", "plots.js", "report.js")
"""In the order in which they need each other."""
_STYLES: Final = ("vendor/uplot/uPlot.min.css", "page.css")
_NOTHING_KNOWN: Final = (FindingKind.GAP, FindingKind.OUTAGE)
_MOST_DIVERGENCES: Final = 200
_IMPORT: Final = re.compile(r"^import .*$", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ", re.MULTILINE)


ExplainedReplay: TypeAlias = tuple[ReplayDocument, Sequence[Sequence[Explanation]]]
"""A replay, and for each candidate the explanations of those of its changes that can be explained."""


def report(replays: Sequence[ExplainedReplay], made: datetime, version: str) -> str:
    """Return the whole file. `made`: when; `version`: of this program."""
    script, style = _script(), _style()
    views = [_ReplayView(number, *each) for number, each in enumerate(replays)]
    return environment().get_template("report.html").render(
        replays=views,
        charts=[each.chart() for each in views],
        load_meanings=LOAD_MEANINGS,
        most_divergences=_MOST_DIVERGENCES,
        now=made,
        version=version,
        script=script,
        style=style,
        policy=(
            f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
            "base-uri 'none'; form-action 'none'"
        ),
    )  # fmt: skip


class _ChangeView(NamedTuple):
    """A change in the list."""

    change: Change
    explanation: Explanation | None
    anchor: str
    """Of its explanation; empty if it has none."""


class _ReplayView:
    """A replay for the template."""

    def __init__(self, number: int, document: ReplayDocument, explanations: Sequence[Sequence[Explanation]]) -> None:
        self.number, self.document = number, document
        self.changes: list[Sequence[_ChangeView]] = []
        """For each candidate."""
        for place, (candidate, known) in enumerate(zip(document.candidates, explanations, strict=True)):
            at = {each.at: each for each in known}
            self.changes.append(
                [
                    _ChangeView(each, at.get(each.at), f"why-{number}-{place}-{line}" if each.at in at else "")
                    for line, each in enumerate(candidate.changes)
                ]
            )

    @property
    def measures(self) -> Sequence[MeasureRow]:
        """The rows of the table."""
        return measure_rows(self.document)

    @property
    def times(self) -> str:
        """The times of instances."""
        start_ups = [(each.label, each.start_up) for each in self.document.candidates]
        return instance_times_text(start_ups, self.document.termination)

    def chart(self) -> Mapping[str, Any]:
        """The data of the script."""
        document, series = self.document, self.document.series
        return {
            "at": [each.timestamp() for each in series.at],
            "needed": series.needed,
            "unknown": [
                (each.begin.timestamp(), each.end.timestamp())
                for each in document.findings
                if each.kind in _NOTHING_KNOWN
            ],
            "candidates": [
                {
                    "label": candidate.label,
                    "size": course.size,
                    "overload": [None if each is None else round(each, 4) for each in course.overload],
                    "changes": [
                        {"at": each.at.timestamp(), "out": each.after > each.before, "anchor": anchor}
                        for each, _, anchor in changes
                    ],
                }
                for candidate, course, changes in zip(document.candidates, series.courses, self.changes, strict=True)
            ],
        }


@cache
def _script() -> str:
    """The page's modules as one. The chart library is wrapped; the names of the others do not clash."""
    library = (_STATIC / _LIBRARY).read_text("utf-8")
    body = library.replace(_LIBRARY_EXPORT, "return uPlot;")
    modules = [_EXPORT.sub("", _IMPORT.sub("", (_STATIC / name).read_text("utf-8"))) for name in _MODULES]
    return "\n".join([f"const uPlot = (() => {{\n{body}\n}})();", *modules])


@cache
def _style() -> str:
    return "\n".join((_STATIC / name).read_text("utf-8") for name in _STYLES)


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
