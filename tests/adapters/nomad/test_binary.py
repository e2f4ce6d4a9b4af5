"""How the tests find Nomad."""

from pathlib import Path

import pytest

from tools.nomad import NomadNotFound, __main__, nomad_binary


def _program(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def test_a_nomad_on_path_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A contributor's own binary precedes one that takes minutes to build."""
    own = _program(tmp_path / "bin", "nomad", "exit 0")
    monkeypatch.setenv("PATH", str(own.parent))
    assert nomad_binary(tmp_path / "cache") == own


@pytest.mark.parametrize(
    ("go", "said"),
    [
        (None, "go is not on PATH"),
        ("echo go1.24.9", "go1.24.9 is too old"),
        ('[ "$1" = env ] && echo go1.25.8 || { echo "no route to proxy" >&2; exit 1; }', "no route to proxy"),
    ],
)
def test_without_a_nomad_a_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], go: str | None, said: str
) -> None:
    """The machine has no Go, an old one, or no network."""
    if go is not None:
        _program(tmp_path / "bin", "go", go)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(NomadNotFound, match=said) as caught:
        nomad_binary(tmp_path / "cache")
    assert "install Nomad" in str(caught.value)
    monkeypatch.setattr("tools.nomad.__main__.nomad_binary", lambda: nomad_binary(tmp_path / "cache"))
    assert __main__.main() == 1
    assert said in capsys.readouterr().err


def test_a_built_nomad_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nomad is built once, completely or not at all."""
    builds = tmp_path / "builds"
    script = f'[ "$1" = env ] && echo go1.25.8 && exit\necho once >> {builds}\n: > built'
    _program(tmp_path / "bin", "go", script)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    first, second = nomad_binary(tmp_path / "cache"), nomad_binary(tmp_path / "cache")
    assert first == second
    assert first.is_file()
    assert builds.read_text() == "once\n"
