"""The types of settings that adapters share."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from autoscaler.target import AdapterSettings, ConfigPath, Duration, ExistingFile, ExistingPath


class Section(AdapterSettings):
    grace_period: Duration = timedelta(seconds=10)
    token_file: ConfigPath | None = None


def test_keys_are_camel_case_as_in_the_file() -> None:
    """The file has one case; Python code uses Python's names."""
    assert Section.model_validate({"gracePeriod": "1m30s"}).grace_period == timedelta(seconds=90)
    assert Section(grace_period=timedelta(seconds=1)).grace_period == timedelta(seconds=1)


def test_unknown_keys_are_errors() -> None:
    """A typing error must not become a default."""
    with pytest.raises(ValidationError, match="gracePeriods"):
        Section.model_validate({"gracePeriods": "1s"})


def test_settings_never_change_after_loading() -> None:
    """A reload makes new settings."""
    with pytest.raises(ValidationError, match="frozen"):
        Section().grace_period = timedelta(0)  # type: ignore[misc]  # the assignment is the test


@pytest.mark.parametrize("value", [10, 1.5, True, False, 0.0, "10", "ten", "", "1s1m", "-1s"])
def test_a_duration_has_a_unit(value: Any) -> None:
    """Without a unit, a number could be seconds or milliseconds."""
    with pytest.raises(ValidationError, match="gracePeriod"):
        Section.model_validate({"gracePeriod": value})


def test_a_duration_is_written_as_it_is_read() -> None:
    """Displayed settings can be pasted into a file."""
    section = Section.model_validate({"gracePeriod": "1m30s"})
    assert section.model_dump(mode="json", by_alias=True)["gracePeriod"] == "1m30s"
    assert {"const": 0} in Section.model_json_schema()["properties"]["gracePeriod"]["anyOf"]


def test_zero_needs_no_unit() -> None:
    """Zero is the same in every unit."""
    assert Section.model_validate({"gracePeriod": 0}).grace_period == timedelta(0)
    assert Section.model_validate({"gracePeriod": "0"}).grace_period == timedelta(0)


def test_a_key_without_a_value_counts_as_omitted() -> None:
    """Kubernetes reads null like this, also in an adapter's section."""
    assert Section.model_validate({"gracePeriod": None}).grace_period == timedelta(seconds=10)
    with pytest.raises(ValidationError, match="gracePeriods"):
        Section.model_validate({"gracePeriods": None})


@pytest.mark.parametrize("value", ["101y", "9000y", timedelta(days=36_501)])
def test_a_duration_has_at_most_100_years(value: Any) -> None:
    """Now minus nine thousand years is not a valid date: every cycle would fail."""
    with pytest.raises(ValidationError, match=r"too long a duration; write at most 36500d \(100 years\)"):
        Section.model_validate({"gracePeriod": value})
    longest = Section.model_validate({"gracePeriod": "100y"}).grace_period
    now = datetime.now(UTC)
    assert now - longest < now < now + 2 * longest


@pytest.mark.parametrize(("written", "found"), [("token", "/etc/x/token"), ("../t", "/etc/x/../t"), ("/t", "/t")])
def test_a_path_is_relative_to_the_configuration(written: str, found: str) -> None:
    """The daemon's working directory must not matter."""
    section = Section.model_validate({"tokenFile": written}, context={"folder": "/etc/x"})
    assert section.token_file == Path(found)


def test_a_path_without_a_configuration_is_unchanged() -> None:
    """Tests and tools build settings in Python."""
    assert Section.model_validate({"tokenFile": "token"}).token_file == Path("token")


def test_a_file_that_must_exist_has_its_own_type() -> None:
    """`check` warns about missing secrets, and must know which paths are secrets."""

    class Secret(AdapterSettings):
        token_file: ExistingPath

    path = Secret.model_validate({"tokenFile": "token"}, context={"folder": "/etc/x"}).token_file
    assert isinstance(path, ExistingFile)
    assert path == Path("/etc/x/token")


@pytest.mark.parametrize(("path", "said"), [("to\0ken", "holds a NUL character"), ("", "the path is empty; write one")])
def test_an_impossible_path_is_an_error(path: str, said: str) -> None:
    """Later uses of a path with a NUL would raise an unexpected error; an empty one would be the file's folder."""
    with pytest.raises(ValidationError, match=said):
        Section.model_validate({"tokenFile": path})
