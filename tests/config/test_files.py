"""A file that cannot be read, or is no text, gives one problem quickly and without a traceback."""

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from autoscaler.config.document import MAX_DEPTH, MAX_VALUES
from autoscaler.config.loader import load
from autoscaler.config.source import MAX_BYTES
from autoscaler.errors import ConfigError, Problem
from tests.config.conftest import Load


def problem_of(path: Path) -> Problem:
    """Return the only problem of the file."""
    with pytest.raises(ConfigError) as caught:
        load(path)
    (problem,) = caught.value.problems
    return problem


def test_a_missing_file_is_a_problem_at_its_first_position(tmp_path: Path) -> None:
    problem = problem_of(tmp_path / "none.yaml")
    assert str(problem) == (
        f"{tmp_path}/none.yaml:1:1: the file cannot be read: No such file or directory; check the path"
    )


def test_a_directory_is_refused(tmp_path: Path) -> None:
    """Users type `check /etc/autoscaler`."""
    assert problem_of(tmp_path).message == "the file is a directory; name the file in it"


def test_an_impossible_file_name_is_refused(tmp_path: Path) -> None:
    """Python raises ValueError for it, not OSError."""
    assert "is not a valid file name" in problem_of(Path("a\0b")).message


def test_an_unreadable_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal is simulated, because permissions do not stop root."""
    file = tmp_path / "autoscaler.yaml"
    file.write_text("autoscalers: []\n")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", refuse)
    assert problem_of(file).message == (
        "the file cannot be read: Permission denied; check its permissions and the path"
    )


def test_a_huge_file_is_refused_without_reading(tmp_path: Path) -> None:
    """A log file given by mistake must not fill the memory."""
    file = tmp_path / "huge.yaml"
    with file.open("wb") as handle:
        handle.truncate(50 * 2**20)
    tracemalloc.start()
    try:
        assert "is larger than 16 MiB" in problem_of(file).message
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/urandom"])
def test_a_device_is_refused(device: str) -> None:
    """One has no end, another waits for input."""
    assert problem_of(Path(device)).message.startswith("the file is not a regular file")


def test_a_named_pipe_is_refused(tmp_path: Path) -> None:
    """A reload would wait until a process writes to it."""
    pipe = tmp_path / "autoscaler.yaml"
    os.mkfifo(pipe)
    assert problem_of(pipe).message == ("the file is not a regular file; name one, or pass a command's output as <(…)")


@pytest.mark.slow
def test_a_pipe_of_the_shell_is_read_to_its_end() -> None:
    """As in `check <(generate)` and `kubectl … | autoscaler import -`; the command may be slow."""
    script = "exec 3< <(sleep 0.5; echo 'autoscalers: []'); autoscaler check /dev/fd/3 && autoscaler check /dev/stdin"
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with subprocess.Popen(["bash", "-c", "sleep 0.5; echo 'autoscalers: []'"], stdout=subprocess.PIPE) as slow:
        ended = subprocess.run(
            ["bash", "-c", script], stdin=slow.stdout, env=environment, capture_output=True, text=True, check=False
        )
    assert (ended.returncode, ended.stdout.count(": ok, 0 autoscalers")) == (0, 2), ended


def test_a_file_at_the_limit_is_read(tmp_path: Path) -> None:
    file = tmp_path / "autoscaler.yaml"
    file.write_bytes(b"autoscalers: []\n#".ljust(MAX_BYTES, b"x"))
    assert load(file).autoscalers == ()


@pytest.mark.parametrize(
    ("packer", "packed"),
    [("gzip", gzip.compress), ("bzip2", bz2.compress), ("xz", lzma.compress)],
)
def test_a_packed_file_is_said_to_be_packed(tmp_path: Path, packer: str, packed: Callable[[bytes], bytes]) -> None:
    """Artefacts of pipelines are packed, and `byte 0x8b is not UTF-8` names no cause."""
    file = tmp_path / "autoscaler.yaml.gz"
    file.write_bytes(packed(b"autoscalers: []"))
    assert problem_of(file).message == f"the file is packed by {packer}; unpack it"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_unicode_encodings_are_named(tmp_path: Path, encoding: str) -> None:
    """Editors on Windows write them."""
    file = tmp_path / "autoscaler.yaml"
    file.write_bytes("autoscalers: []\n".encode(encoding))
    assert problem_of(file).message == "the file is not UTF-8 but UTF-16 or UTF-32; save it as UTF-8"


def test_latin_1_is_refused_at_its_first_foreign_byte(tmp_path: Path) -> None:
    """Decoded wrongly, a label would match no sample."""
    file = tmp_path / "autoscaler.yaml"
    file.write_bytes("web: {}\n# für\n".encode("latin-1"))
    problem = problem_of(file)
    assert (problem.line, problem.column) == (2, 4)
    assert problem.message == "byte 0xfc is not UTF-8; save the file as UTF-8"


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    """Editors on Windows add it to UTF-8."""
    file = tmp_path / "autoscaler.yaml"
    file.write_bytes("autoscalers: []\n".encode("utf-8-sig"))
    assert load(file).autoscalers == ()


def test_columns_count_characters_not_bytes(tmp_path: Path) -> None:
    """Editors count characters."""
    file = tmp_path / "autoscaler.yaml"
    file.write_text("autoscalers: []\nweb: {listenAddress: für, x: 1}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(file)
    assert [problem.column for problem in caught.value.problems] == [22, 27]


@pytest.mark.parametrize(
    "text",
    [
        "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40)),
        "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 50)}]\n" for n in range(1, 9)),
        "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{<<: *a{n - 1}, y{n}: 1}}\n" for n in range(1, 3000)),
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 5000)),
        "[" * 100_000,
        "{a: " * 100_000,
        "- " * 100_000 + "a",
        "a: " + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
    ],
    ids=["doubling", "fifty-fold", "merges", "a chain", "brackets", "braces", "dashes", "one too deep"],
)
def test_documents_that_expand_or_nest_too_far_are_refused_quickly(tmp_path: Path, text: str) -> None:
    """They would overflow the C stack of libyaml, or take years to expand."""
    file = tmp_path / "bomb.yaml"
    file.write_text(text)
    started = time.process_time()
    problem = problem_of(file)
    assert "too large" in problem.message or "nested deeper" in problem.message
    assert time.process_time() - started < 60  # CPU time, of which it takes a tenth; expanded, most would take years


@pytest.mark.slow
def test_a_file_with_too_many_values_is_refused(tmp_path: Path) -> None:
    """16 MiB of short values would take gigabytes."""
    file = tmp_path / "many.yaml"
    file.write_text("[" + "1," * MAX_VALUES + "1]")
    assert problem_of(file).message == "the file holds more than 2,000,000 keys and values; split it"


def test_a_pipe_is_read(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"autoscalers: []\n")
    os.close(write)
    try:
        assert load(Path(f"/dev/fd/{read}")).autoscalers == ()
    finally:
        os.close(read)


def test_missing_secrets_are_warnings_with_a_position(load_text: Load, tmp_path: Path) -> None:
    """Files are also checked on machines without the secrets."""
    (tmp_path / "here").write_text("x")
    (tmp_path / "empty").touch()
    settings = load_text(
        "autoscalers: []\n"
        "prometheus: {p: {url: 'http://h', bearerTokenFile: nowhere, tls: {caFile: here}}}\n"
        "adapters: {a: {type: groups, tokenFile: gone}, b: {type: groups, tokenFile: empty}}\n"
    )
    assert [(each.line, each.column, each.path) for each in settings.warnings] == [
        (2, 52, "prometheus.p.bearerTokenFile"),
        (3, 41, "adapters.a.tokenFile"),
        (3, 77, "adapters.b.tokenFile"),
    ]
    assert settings.warnings[1].message == f"{tmp_path}/gone is missing or not readable here; `run` needs it"
    assert settings.warnings[2].message == f"{tmp_path}/empty is empty; `run` needs what it should hold"


def test_a_secret_with_an_impossible_file_name_is_a_warning(load_text: Load) -> None:
    name = "x" * 300
    settings = load_text(f"autoscalers: []\nprometheus: {{p: {{url: 'http://h', bearerTokenFile: {name}}}}}\n")
    assert [each.path for each in settings.warnings] == ["prometheus.p.bearerTokenFile"]


@pytest.mark.parametrize(
    "text",
    [
        'state: {url: "sqlite:////var/lib/§a\\0b.db"}',
        'prometheus: {default: {url: "http://§a\\0b"}}',
        'prometheus: {default: {url: "http://a", bearerTokenFile: "§a\\u0000b"}}',
        'autoscalers: [{name: "§a\\x00b"}]',
        '{"§a\\0b": 1}',
    ],
)
def test_a_nul_character_is_a_problem_at_its_text(tmp_path: Path, text: str) -> None:
    """No path, URL or name of the system has one, and SQLite's ended the start with a traceback."""
    file = tmp_path / "autoscaler.yaml"
    file.write_text(text.replace("§", ""))
    with pytest.raises(ConfigError) as caught:
        load(file)
    found = [each for each in caught.value.problems if "the text holds a NUL character" in each.message]
    assert [each.column for each in found] == [text.rindex('"', 0, text.index("§")) + 1]
