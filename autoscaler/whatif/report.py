"""A replay as one HTML file that needs nothing else: no network, no daemon.

What it loads is in it. Its content security policy allows its own style and script alone, by their hashes, and no
address at all; so a name that got past the templates' escaping could still run nothing.
"""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from autoscaler.documents.explanation import Explanation
from autoscaler.web import page
from autoscaler.web.page.environment import environment
from autoscaler.whatif.documents.measured import LOAD_MEANINGS, MeasureRow, measure_rows, times_of_instances
from autoscaler.whatif.documents.replay import ReplayDocument
from autoscaler.whatif.past.past import FindingKind

_STATIC: Final = Path(page.__file__).parent / "static"
_LIBRARY: Final = "vendor/uplot/uPlot.esm.js"
_LIBRARY_EXPORT: Final = "export { uPlot as default };"
_MODULES: Final = ("times.js", "plots.js", "report.js")
"""In the order in which they need each other."""
_STYLES: Final = ("vendor/uplot/uPlot.min.css", "page.css")
_NOTHING_KNOWN: Final = (FindingKind.GAP, FindingKind.OUTAGE)
_MOST_PARTINGS: Final = 200
"""That are listed."""
_IMPORT: Final = re.compile(r"^import .*$", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ExplainedReplay:
    """A replay, and why the size changed."""

    document: ReplayDocument
    explanations: Sequence[Sequence[Explanation]] = ()
    """For each candidate, of as many of its changes as are explained."""


def report(replays: Sequence[ExplainedReplay], made: datetime, version: str) -> str:
    """The whole file, in which every change that has an explanation leads to it. `made`: when, `version`: by which."""
    script, style = _script(), _style()
    views = [_ReplayView.of(number, each) for number, each in enumerate(replays)]
    templates = environment()
    return templates.get_template("report.html").render(
        replays=views,
        charts=[each.chart() for each in views],
        load_meanings=LOAD_MEANINGS,
        most_divergences=_MOST_PARTINGS,
        now=made,
        version=version,
        script=script,
        style=style,
        policy=(
            f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
            "base-uri 'none'; form-action 'none'"
        ),
    )


@dataclass(frozen=True, slots=True)
class _ChangeView:
    """A line of the list."""

    at: datetime
    before: int
    after: int
    message: str
    anchor: str
    """Of its explanation; empty: there is none."""
    explanation: Explanation | None


@dataclass(frozen=True, slots=True)
class _ReplayView:
    """One replay for the template."""

    number: int
    document: ReplayDocument
    changes: Sequence[Sequence[_ChangeView]]
    """For each candidate."""

    @classmethod
    def of(cls, number: int, replay: ExplainedReplay) -> "_ReplayView":
        changes: list[Sequence[_ChangeView]] = []
        for place, candidate in enumerate(replay.document.candidates):
            known = {each.at: each for each in replay.explanations[place]} if place < len(replay.explanations) else {}
            changes.append(
                [
                    _ChangeView(
                        each.at,
                        each.before,
                        each.after,
                        each.message,
                        f"why-{number}-{place}-{line}" if each.at in known else "",
                        known.get(each.at),
                    )
                    for line, each in enumerate(candidate.changes)
                ]
            )
        return cls(number, replay.document, changes)

    @property
    def measures(self) -> Sequence[MeasureRow]:
        """The rows of the table."""
        return measure_rows(self.document)

    @property
    def times(self) -> str:
        """Which times of instances were used."""
        return times_of_instances(self.document)

    def chart(self) -> Mapping[str, Any]:
        """What the script draws."""
        series = self.document.series
        return {
            "at": [each.timestamp() for each in series.at],
            "needed": series.needed,
            "unknown": [
                (each.begin.timestamp(), each.end.timestamp())
                for each in self.document.findings
                if each.kind in _NOTHING_KNOWN
            ],
            "candidates": [
                {
                    "label": candidate.label,
                    "size": course.size,
                    "overload": [None if each is None else round(each, 4) for each in course.overload],
                    "changes": [
                        {"at": each.at.timestamp(), "out": each.after > each.before, "anchor": each.anchor}
                        for each in changes
                    ],
                }
                for candidate, course, changes in zip(
                    self.document.candidates, series.courses, self.changes, strict=True
                )
            ],
        }


@cache
def _script() -> str:
    """The page's modules as one: the chart library keeps its names to itself, the others have each a different one."""
    library = (_STATIC / _LIBRARY).read_text("utf-8")
    body = library.replace(_LIBRARY_EXPORT, "return uPlot;")
    modules = [_EXPORT.sub("", _IMPORT.sub("", (_STATIC / name).read_text("utf-8"))) for name in _MODULES]
    return "\n".join([f"const uPlot = (() => {{\n{body}\n}})();", *modules])


@cache
def _style() -> str:
    return "\n".join((_STATIC / name).read_text("utf-8") for name in _STYLES)


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
