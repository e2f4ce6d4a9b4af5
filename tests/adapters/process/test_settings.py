"""The settings of a process connection, and their offline checks."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from adapters.process import Process, procfs
from adapters.process.settings import PoolSettings, ProcessSettings
from autoscaler.errors import AdapterError
from autoscaler.model import TargetRef
from autoscaler.target.contract import make_context


def _settings(**pool: Any) -> ProcessSettings:
    return ProcessSettings.model_validate(
        {"pools": {"web": {"command": "worker", **pool}}}, context={"folder": "/etc/x"}
    )


def test_the_whole_section_loads() -> None:
    """All keys load, with paths relative to the file."""
    settings = _settings(
        command="worker --listen '{port} x'",
        cwd="run",
        env={"A": "b"},
        ports="20000-20999",
        readiness={"path": "/healthz"},
        gracePeriod="1m",
        initialReplicas=2,
        targetsFile="targets/web.json",
        log="web.log",
    )
    pool = settings.pools["web"]
    assert pool.command == ("worker", "--listen", "{port} x")
    assert pool.ports == range(20000, 21000)
    assert pool.grace_period == timedelta(minutes=1)
    assert (pool.cwd, pool.targets_file) == (Path("/etc/x/run"), Path("/etc/x/targets/web.json"))
    assert pool.log == Path("/etc/x/web.log")


def test_only_the_command_is_needed() -> None:
    """The defaults are 10 s of grace and one initial worker."""
    pool = _settings().pools["web"]
    assert (pool.grace_period, pool.initial_replicas, pool.ports) == (timedelta(seconds=10), 1, None)


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        ({"command": ""}, "it is empty; name the program"),
        ({"command": []}, "it is empty; name the program"),
        ({"command": "sh -c 'x"}, "No closing quotation; quote it"),
        ({"command": 5}, "valid tuple"),
        ({"ports": "20000"}, "is not a valid port range"),
        ({"ports": 20000}, "is not a valid port range"),
        ({"ports": "2-1"}, "is not a valid port range"),
        ({"ports": "0-10"}, "is not a valid port range"),
        ({"ports": "1-65536"}, "is not a valid port range"),
        ({"command": "x {port}"}, "{port} in command needs a port"),
        ({"env": {"A": ":{port}"}}, "{port} in env needs a port"),
        ({"readiness": {"path": "/"}}, "readiness needs a port"),
        ({"targetsFile": "x"}, "targetsFile needs a port"),
        ({"ports": "1-2", "readiness": {"path": "healthz"}}, "pattern"),
        ({"ports": "1-2", "readiness": {"path": "/a b"}}, "pattern"),
        ({"ports": "1-2", "initialReplicas": 3}, "more than the 2 ports"),
        ({"initialReplicas": 0}, "greater than or equal to 1"),
        ({"gracePeriod": 10}, "is not a valid duration"),
        ({"comand": "x"}, "Extra inputs"),
    ],
)
def test_settings_that_cannot_work_are_reported_offline(pool: dict[str, Any], message: str) -> None:
    """`check` finds it before the first scale-out."""
    with pytest.raises(ValidationError) as error:
        _settings(**pool)
    assert message in str(error.value)


@pytest.mark.parametrize("name", ["", "a/b", "../a", ".a", "a b", "a" * 64])
def test_a_pools_name_is_a_plain_word(name: str) -> None:
    """It names files."""
    with pytest.raises(ValidationError, match="pools"):
        ProcessSettings.model_validate({"pools": {name: {"command": "x"}}})


def test_pools_do_not_share_a_targets_file() -> None:
    """Each would overwrite the other's workers."""
    pool = {"command": "x", "ports": "1-2", "targetsFile": "same.json"}
    with pytest.raises(ValidationError, match=r"same\.json is written by more than one pool"):
        ProcessSettings.model_validate({"pools": {"a": pool, "b": pool}})


def test_of_many_pools_an_unknown_one_names_some() -> None:
    many = ProcessSettings.model_validate({"pools": {f"p{at:02}": {"command": ["/bin/true"]} for at in range(32)}})
    problem = Process.target_problem(TargetRef("local", "queue"), many)
    assert problem is not None
    assert problem.startswith("name: no pool 'queue' is configured; known pools: p00, p01, ")
    assert problem.endswith(", p29 and 2 more")


def test_a_system_without_proc_is_told_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers could be started and never be found again."""
    monkeypatch.setattr(procfs, "available", lambda: False)
    with pytest.raises(AdapterError, match="run the daemon on Linux"):
        Process(make_context(_settings(), tmp_path))


def test_the_settings_have_a_json_schema_and_write_back() -> None:
    """Editors complete the section by it; a loaded pool is written as it was read."""
    schema = ProcessSettings.model_json_schema()
    pool = schema["$defs"]["PoolSettings"]["properties"]
    assert pool["ports"]["anyOf"][0]["pattern"] == "^[0-9]{1,5}-[0-9]{1,5}$"
    assert {"command", "gracePeriod", "targetsFile"} <= set(pool)
    written = PoolSettings(command=("x",), ports="1-9").model_dump(by_alias=True, mode="json")
    assert (written["ports"], written["gracePeriod"]) == ("1-9", "10s")
