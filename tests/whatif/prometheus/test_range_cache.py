"""Answers cached on disk."""

import os
import stat
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import PastError
from autoscaler.whatif.prometheus.range_cache import RangeCache, cache_folder
from tests.whatif.sources import LOAD, FakeClock, numbered, span

SOURCE = PrometheusSource("http://prometheus.test")
ASKED = span(1_000, 10)


def cache(folder: Path, source: PrometheusSource = SOURCE, clock: FakeClock | None = None) -> RangeCache:
    return RangeCache(folder, {"default": source}, clock or FakeClock())


def test_an_answer_is_read_as_it_was_saved(tmp_path: Path) -> None:
    cache(tmp_path).save(LOAD, ASKED, numbered(ASKED))
    assert cache(tmp_path).load(LOAD, ASKED) == numbered(ASKED)


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    cache(folder).save(LOAD, ASKED, numbered(ASKED))
    (file,) = folder.iterdir()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (file, folder, folder.parent)] == [0o600, 0o700, 0o700]


@pytest.mark.parametrize(
    "other",
    [
        replace(SOURCE, url="http://another.test"),
        replace(SOURCE, headers={"X-Scope-OrgID": "b"}),
        replace(SOURCE, params={"dedup": "false"}),
    ],
    ids=["server", "header", "parameter"],
)
def test_the_answer_of_another_tenant_is_not_used(tmp_path: Path, other: PrometheusSource) -> None:
    cache(tmp_path).save(LOAD, ASKED, numbered(ASKED))
    assert cache(tmp_path, other).load(LOAD, ASKED) is None


@pytest.mark.parametrize("other", [replace(ASKED, phase=timedelta(seconds=1)), replace(ASKED, first=999)])
def test_an_answer_of_other_times_is_not_used(tmp_path: Path, other: object) -> None:
    cache(tmp_path).save(LOAD, ASKED, numbered(ASKED))
    assert cache(tmp_path).load(LOAD, other) is None  # type: ignore[arg-type] # each is a Grid


def test_a_file_that_was_not_used_for_a_month_is_removed(tmp_path: Path) -> None:
    """Other files stay: --cache may name any folder."""
    clock = FakeClock()
    cache(tmp_path, clock=clock).save(LOAD, ASKED, numbered(ASKED))
    (file,) = tmp_path.iterdir()
    foreign = tmp_path / "notes.txt"
    foreign.write_text("mine")
    long_ago = clock.seconds - 31 * 24 * 3600
    os.utime(file, (long_ago, long_ago))
    os.utime(foreign, (long_ago, long_ago))
    cache(tmp_path, clock=clock)
    assert list(tmp_path.iterdir()) == [foreign]


def test_an_unusable_folder_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PastError, match=r"file/cache: answers cannot be cached there: .*; give --cache another"):
        cache(tmp_path / "file" / "cache")


def test_the_default_folder_is_the_users_cache(tmp_path: Path) -> None:
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "autoscaler"
    assert cache_folder({}) == Path.home() / ".cache" / "autoscaler"
