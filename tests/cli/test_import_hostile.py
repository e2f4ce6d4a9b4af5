"""A hostile manifest gives an error, or exactly the configuration that it describes."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoscaler.cli.reread import checked_lines
from autoscaler.config.document import YamlDocument
from autoscaler.convert.blocks import AutoscalerBlock, MetricBlock, UsualQuery, section_value
from autoscaler.errors import AutoscalerError
from tests.cli.importing import V1, V2, convert, create

COMMAND = "adapters: {x: {type: process, pools: {p: {command: [touch, /tmp/harmed]}}}}"
LINE_BREAKS = ["\n", "\r", "\r\n", "\x85", "\u2028", "\u2029", "\x0b", "\x0c"]
_TARGET = {"type": "AverageValue", "averageValue": 1}


def manifest(**replaced: str) -> str:
    """Return the manifest with some of its names replaced by these texts, quoted as YAML."""
    text = V2
    for word, new in replaced.items():
        text = f"name: {json.dumps(new)}".join(re.split(rf"name: {word}\b", text))
    return text


def lines_of(name: str = "web", target: str = "web", hint: str = "", **metric: Any) -> list[str]:
    block = MetricBlock("Pods", {"metric": {"name": "x"}} | metric, _TARGET, UsualQuery(""), hint)
    return checked_lines(["head"], [AutoscalerBlock(name, "swarm", target, 1, 2, [block])])


@pytest.mark.parametrize("word", ["web", "cpu", "inflight", "main", "rps", "queue"])
@pytest.mark.parametrize("line_break", LINE_BREAKS)
def test_a_name_with_a_line_break_is_refused_at_its_position(file: Path, word: str, line_break: str) -> None:
    """Such a name once wrote a section `adapters` with a command, which `run` executed."""
    file.write_text(manifest(**{word: f"{word}{line_break}{COMMAND}{line_break}#"}))
    code, out, err = convert(file)
    assert (code, out) == (1, "")
    assert re.search(rf"{file}:\d+:\d+: .*name: .* is not a valid (name|key); ", err)
    assert all(line.isprintable() for line in err.splitlines())


@pytest.mark.parametrize("character", ["\0", "\x1b", "\x7f", "\x9b", "\ufeff", "\u202e", "/", "%"])
def test_a_character_that_names_cannot_have_is_refused(file: Path, character: str) -> None:
    """It could control a terminal, or make the name look like another."""
    file.write_text(manifest(inflight=f"in{character}flight"))
    code, out, err = convert(file)
    assert (code, out) == (1, "")
    assert ("holds a NUL character" if character == "\0" else "is not a valid name") in err


@pytest.mark.parametrize(
    "name", ["on", "off", "yes", "null", "true", "1e3", "0x10", "1", "1.5", "12", "3e5", "e1", "0e0"]
)
def test_a_name_that_looks_like_another_type_stays_a_text(file: Path, name: str) -> None:
    """YAML 1.1 and 1.2 read such words differently."""
    file.write_text(manifest(web=name, inflight=name))
    code, out, _ = convert(file)
    assert code == 0
    (written,) = YamlDocument(out, "out").value["autoscalers"]
    assert (written["name"], written["scaleTargetRef"]["name"]) == (name, name)
    assert written["metrics"][2]["pods"]["metric"]["name"] == name


def test_aliases_and_merges_are_written_out(file: Path) -> None:
    """In another file the anchors could have another meaning."""
    metric = '{type: Pods, pods: {metric: {name: a}, target: {<<: *t, averageValue: "3"}}}'
    text = V1.replace("targetCPUUtilizationPercentage: 70", f"metrics: [{metric}, {metric}], behavior: *b")
    text = text.replace("autoscaling/v1", "autoscaling/v2").replace(
        "metadata: {name: api}",
        "metadata: {name: api, annotations: {t: &t {type: AverageValue}, "
        "b: &b {scaleUp: &u {policies: [{type: Pods, value: 1, periodSeconds: 9}]}, scaleDown: *u}}}",
    )
    file.write_text(text)
    code, out, _ = convert(file)
    assert code == 0
    assert not re.search(r"[&*]|<<", out)
    (written,) = YamlDocument(out, "out").value["autoscalers"]
    assert written["behavior"]["scaleUp"] == written["behavior"]["scaleDown"]


def test_of_two_autoscalers_with_one_name_the_first_is_written(file: Path) -> None:
    """A prefixed name can equal another. The error names both positions."""
    names = [("b", "a"), ("b", "c"), ("a-b", "d")]
    file.write_text("---\n".join(V1.replace("name: api}", f"name: {n}, namespace: {s}}}", 1) for n, s in names))
    code, out, err = convert(file)
    assert (code, [each["name"] for each in YamlDocument(out, "out").value["autoscalers"]]) == (1, ["a-b", "c-b"])
    assert f"{file}:11:1: a-b: its name is already that of the one at {file}:1:1; rename one of them\n" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "---\n" * 1_000_000,
        "---\n# \n" * 500_000,
        "---\na: 1\n" * 50_000,
        "kind: List\nitems: [" + "1, " * 100_000 + "]",
        "kind: List\nitems:\n" + "- {kind: Service}\n" * 20_000,
        "x" * (16 * 2**20 + 1),
        "/*" * 1_000_000,
        "#\n" * 1_000_000 + "//" * 1_000_000,
        "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40)),
    ],
    ids=[
        "separators",
        "comments",
        "documents",
        "numbers",
        "services",
        "too large",
        "open comments",
        "HCL's comments",
        "laughs",
    ],
)
def test_a_file_designed_to_be_slow_takes_seconds(file: Path, text: str) -> None:
    file.write_text(text)
    started = time.process_time()
    code, out, err = convert(file)
    assert (code, out) == (1, "")
    assert len(err) < 100_000
    assert time.process_time() - started < 100  # of processor time, on a quiet machine two


_NASTY = st.sampled_from(
    [
        *LINE_BREAKS,
        *"\0\t #'\"\\{[],|>~@`",
        *(" # ", "{{", "}}", ": ", "- ", "? "),
        *("---\n", "\n---\n", "\n...\n", "%YAML 1.1\n", "!!str ", "!!python/name:os.system ", "&a ", "*a", "<<: "),
        *("\ufeff", "\u202e", "\u200b", "é", "\U0001f600", "\ud800", "on", "1e3", "null", "9" * 40),
        *(COMMAND, f"\n{COMMAND}\n"),
    ]
)
_TEXTS = st.lists(_NASTY | st.text(max_size=4) | st.sampled_from("abc01-._"), max_size=8).map("".join)


@pytest.mark.slow
@given(name=_TEXTS, target=_TEXTS, metric=_TEXTS, hint=_TEXTS, behavior=_TEXTS)
def test_a_block_is_read_back_as_intended_or_not_written(
    name: str, target: str, metric: str, hint: str, behavior: str
) -> None:
    """This also covers names from `create`, and bugs of the writer."""
    body = MetricBlock("Pods", {"metric": {"name": metric}}, _TARGET, UsualQuery(f"up{{a={json.dumps(target)}}}"), hint)
    block = AutoscalerBlock(name, "swarm", target, 1, 2, [body], {"scaleUp": {"selectPolicy": behavior}})
    for one in (block, AutoscalerBlock("web", "swarm", target or "x", 1, 2, [body])):
        try:
            lines = checked_lines([hint], [one])
        except AutoscalerError:
            continue
        text = "\n".join(lines)
        assert all(line.isprintable() for line in lines)
        assert YamlDocument(text, "out").value == section_value([one])


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_mutated_manifest_gives_an_error_or_only_autoscalers(file: Path, data: st.DataObject) -> None:
    """The mutations insert characters with a meaning in YAML."""
    text = data.draw(st.sampled_from([V1, V2, f"{V1}---\n{V2}"]))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(_NASTY) + text[at + data.draw(st.integers(0, 3)) :]
    file.write_bytes(text.encode(errors="surrogatepass"))
    code, out, err = convert(file)
    if code:
        assert err.strip()
    if not out:
        assert code
        return
    written = YamlDocument(out, "out").value
    assert list(written) == ["autoscalers"]
    for each in written["autoscalers"]:
        assert each.keys() <= {"name", "labels", "scaleTargetRef", "minReplicas", "maxReplicas", "metrics", "behavior"}
    assert "touch" not in re.sub(r"#.*", "", out)


def test_a_bug_of_the_writer_is_an_error_and_nothing_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is read back and compared with the intended value."""
    monkeypatch.setattr("autoscaler.convert.blocks.plain", str)
    with pytest.raises(AutoscalerError, match="the output would not be read as intended, so nothing is written"):
        lines_of(hint="x\n            instanceLabel: y")


@pytest.mark.parametrize(
    "target", [f"swarm/x\n{COMMAND}\n", f"s\n{COMMAND}\n/x", "swarm/\x1b[2J\u202ex", "swarm/größe\U0001f600"]
)
def test_create_quotes_any_name_of_a_target(target: str) -> None:
    """Back ends choose these names, so they are quoted, not refused."""
    code, out, err = create("--target", target, "--name", "web", "--max", "3", "--cpu", "60%")
    if code:
        assert (out, "nothing is written" in err) == ("", True)
        return
    written = YamlDocument(out, "out").value
    assert list(written) == ["autoscalers"]
    assert written["autoscalers"][0]["scaleTargetRef"]["name"] == target.partition("/")[2]
    assert all(line.isprintable() for line in out.splitlines())


def test_create_refuses_a_name_that_check_would_refuse() -> None:
    code, out, err = create("--target", "swarm/x", "--name", "We b", "--max", "3", "--cpu", "60%")
    assert (code, out) == (1, "")
    assert "autoscalers[0].name: 'We b' is not a valid name" in err
