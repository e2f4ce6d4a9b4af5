"""How results are printed."""

from xml.etree import ElementTree

import pytest

from autoscaler import cycle
from tests.scenarios.building import Project


def test_the_text_has_a_line_for_each_test_and_a_sum(project: Project) -> None:
    project.write({"at": "1m", "size": 2}, name="a quiet\nmorning\x1b[31m")
    code, text = project.run()
    assert code == 0
    assert "\x1b" not in text
    assert text.splitlines()[1].startswith("  ok      a quiet")
    assert text.splitlines()[-1] == "1 passed, 0 failed"


def test_junit_has_a_case_for_each_test_and_the_explanation_of_a_failure(project: Project) -> None:
    """CI shows it."""
    project.write({"at": "1m", "size": 7}, {"at": "30s", "size": 8}, name="a <busy> morning\x07")
    code, text = project.run("-o", "junit", str(project.config))
    assert code == 1
    root = ElementTree.fromstring(text[text.index("<?xml") :])
    suite, wrong = root.findall("testsuite")
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == ("1", "1", "0")
    (case,) = suite.findall("testcase")
    assert case.attrib["name"].startswith("a <busy> morning")
    failure = case.find("failure")
    assert failure is not None
    assert failure.attrib["message"].endswith("web at 2026-11-23 08:01:00 UTC: expected size 7, got size 2")
    assert "queue: within the tolerance of 10 % -> 2" in str(failure.text)
    assert (wrong.attrib["tests"], wrong.attrib["errors"]) == ("1", "1")


def test_junit_of_tests_that_pass_has_no_failure(project: Project) -> None:
    project.write({"at": "1m", "size": 2})
    code, text = project.run("-o", "junit")
    assert code == 0
    case = ElementTree.fromstring(text).find("testsuite/testcase")
    assert case is not None
    assert len(case) == 0
    assert float(case.attrib["time"]) > 0


def test_a_cycle_that_fails_fails_its_test(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it expects: a test in which nothing was decided proves nothing."""

    def breaking(*_: object) -> None:
        raise ArithmeticError("of the test")

    monkeypatch.setattr(cycle, "decide", breaking)
    project.write({"always": "size = 1"}, duration="1m")
    code, text = project.run()
    assert code == 1
    assert "a cycle failed: autoscaler_failed" in text
