"""The results of tests, as text and as JUnit's XML."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from autoscaler.cli.output import error_lines
from autoscaler.errors import AutoscalerError, ConfigError
from autoscaler.layout import GREEN, RED, Screen
from autoscaler.quantity import format_duration
from autoscaler.scenarios.results import Result
from autoscaler.text import clean


@dataclass(frozen=True, slots=True)
class FileResult:
    """The results of one file."""

    path: Path
    results: Sequence[Result] = ()
    error: AutoscalerError | None = None
    """Why its tests could not be run."""

    @property
    def passed(self) -> bool:
        """Whether all of its tests did."""
        return self.error is None and all(each.passed for each in self.results)


def text_lines(file: FileResult, screen: Screen) -> Iterator[str]:
    """Yield the lines for people: the file, its tests, and below each test what failed."""
    yield clean(str(file.path))
    for result in file.results:
        mark = screen.paint(GREEN, "ok    ") if result.passed else screen.paint(RED, "FAILED")
        lasted = f"{format_duration(result.scenario.duration)} in {result.seconds:.1f} s"
        yield f"  {mark}  {clean(result.scenario.name)} ({lasted})"
        for line in _failures(result):
            yield f"    {clean(line)}" if line else ""


def _failures(result: Result) -> Iterator[str]:
    for error in result.errors:
        yield f"{result.scenario.place}: a cycle failed: {error}"
    for failed, explained in result.failures:
        yield f"{failed.expected.place}: {failed}"
        yield from (f"  {line}" if line else "" for line in explained)


def summary(files: Sequence[FileResult]) -> str:
    """Return the last line: how many tests passed and failed."""
    results = [result for file in files for result in file.results]
    failed = sum(not result.passed for result in results)
    unread = sum(file.error is not None for file in files)
    more = f", {unread} {'file' if unread == 1 else 'files'} could not be run" if unread else ""
    return f"{len(results) - failed} passed, {failed} failed{more}"


def junit(files: Sequence[FileResult]) -> str:
    """Return JUnit's XML: a suite for each file, a case for each test."""
    root = ElementTree.Element("testsuites")
    for file in files:
        suite = ElementTree.SubElement(root, "testsuite", name=clean(str(file.path)))
        for result in file.results:
            case = _case(suite, file.path, result.scenario.name, result.seconds)
            lines = [clean(line) for line in _failures(result)]
            if not result.passed:
                ElementTree.SubElement(case, "failure", message=lines[0]).text = "\n".join(lines)
        if file.error is not None:
            error = file.error
            lines = list(error_lines(error.problems if isinstance(error, ConfigError) else [error]))
            case = _case(suite, file.path, "the file", 0.0)
            ElementTree.SubElement(case, "error", message=lines[0]).text = "\n".join(lines)
        counts = {kind: str(len(suite.findall(f"testcase/{kind}"))) for kind in ("failure", "error")}
        suite.attrib |= {"tests": str(len(suite)), "failures": counts["failure"], "errors": counts["error"]}
        suite.attrib["time"] = f"{sum(each.seconds for each in file.results):.3f}"
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def _case(suite: ElementTree.Element, path: Path, name: str, seconds: float) -> ElementTree.Element:
    where = {"classname": clean(str(path)), "name": clean(name), "time": f"{seconds:.3f}"}
    return ElementTree.SubElement(suite, "testcase", where)
