"""What autoscalers from outside the main file may have, and what is refused."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoscaler.config.grants import queries_of
from autoscaler.config.outside import Granted, read_outside
from autoscaler.config.settings import Settings
from autoscaler.errors import ConfigError
from autoscaler.model import TargetRef
from autoscaler.rules.fallback import Fallbacks
from tests.config.conftest import Load
from tests.config.schedules import entries_of

MAIN: Mapping[str, Any] = {
    "prometheus": {name: {"url": f"http://{name}:9090"} for name in ("default", "shop", "pay")},
    "adapters": {"jobs": {"type": "groups"}, "pools": {"type": "process", "pools": {"shop-web": {"command": "x"}}}},
    "queries": {"shared": {"expr": "sum(shared)", "prometheus": "shop"}, "secret": {"expr": "sum(secret)"}},
    "schedules": {"night": [{"cron": "0 0 * * *", "duration": "1h", "timezone": "UTC", "minReplicas": 90}]},
    "grants": {
        "shop": {
            "namePrefix": "shop-",
            "maxReplicas": 20,
            "labels": {"team": "shop"},
            "adapters": ["jobs", "pools"],
            "namespaces": ["shop"],
            "targets": ["shop-*", "web/web"],
            "sources": ["shop"],
            "maxQueries": 5,
        }
    },
    "autoscalers": [],
}
ONE: Mapping[str, Any] = {
    "name": "shop-web",
    "scaleTargetRef": {"adapter": "jobs", "name": "web/web", "namespace": "shop"},
    "maxReplicas": 10,
    "metrics": [
        {
            "type": "External",
            "external": {
                "metric": {"name": "load"},
                "query": {"expr": "sum(load)", "prometheus": "shop"},
                "target": {"type": "AverageValue", "averageValue": 10},
            },
        }
    ],
}


def dump(value: object) -> str:
    """The value as YAML, with its keys in their order."""
    return yaml.safe_dump(value, sort_keys=False)


def external(**keys: Any) -> dict[str, Any]:
    """The metrics of `ONE` with other keys."""
    body: Mapping[str, Any] = ONE["metrics"][0]["external"]
    return {"metrics": [{"type": "External", "external": {**body, **keys}}]}


def ref(**keys: Any) -> Mapping[str, Any]:
    """The target of `ONE` with other keys; None leaves one out."""
    kept = {**ONE["scaleTargetRef"], **keys}
    return {"scaleTargetRef": {key: value for key, value in kept.items() if value is not None}}


@pytest.fixture
def settings(load_text: Load) -> Settings:
    return load_text(dump(MAIN))


def read(settings: Settings, *bodies: Mapping[str, Any]) -> tuple[Granted, ...]:
    text = dump([{**ONE, **body} for body in bodies])
    return read_outside(text, "shop.yaml", settings.grants["shop"], settings)


def test_granted_keys_are_read_as_in_the_main_file(settings: Settings) -> None:
    (one,) = read(settings, {"labels": {"tier": "front", "team": "pay"}})
    assert (one.scaler.name, one.scaler.max_replicas) == ("shop-web", 10)
    assert one.target == TargetRef("jobs", "web/web", "shop")
    assert dict(one.scaler.labels) == {"team": "shop", "tier": "front"}, "the grant's labels come first"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"name": "pay-web"}, "name: 'pay-web' does not begin with 'shop-', the grant's namePrefix"),
        (ref(adapter="nowhere"), "adapter: no connection 'nowhere'"),
        (ref(name="pay/web"), "name: the grant does not include the target 'pay/web'; it includes shop-*, web/web"),
        (ref(namespace="pay"), "namespace: the grant does not include the namespace 'pay'; it includes shop"),
        (ref(namespace=None), "namespace: the grant does not include the namespace 'default'"),
        (external(query={"expr": "x"}), "metrics: the grant does not include the source 'default'; it includes shop"),
        (external(query={"expr": "x", "prometheus": "pay"}), "the grant does not include the source 'pay'"),
        (external(query={"ref": "secret"}), "the grant does not include the source 'default'"),
        (
            external(fallback={"query": {"expr": "x", "prometheus": "pay"}}),
            "the grant does not include the source 'pay'",
        ),
        ({"drain": {"command": ["/bin/sh", "-c", "id"]}}, "drain: only the main file may set it; remove it"),
        ({"drain": {"http": {"url": "http://{address}/"}}}, "drain: only the main file may set it; remove it"),
        ({"syncPeriod": "1s"}, "syncPeriod: only the main file may set it; remove it"),
        ({"dryRun": False}, "dryRun: only the main file makes an autoscaler scale; write true, or remove it"),
        ({"command": ["/bin/id"]}, "command: unknown key"),
        ({"minReplicas": -1}, "minReplicas: -1 is out of range"),
        ({"maxReplicas": -5}, "maxReplicas: -5 is out of range"),
        ({"maxReplicas": 2**31}, "maxReplicas: 2147483648 is out of range"),
    ],
)
def test_keys_beyond_the_grant_are_refused_with_their_place(
    settings: Settings, body: Mapping[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        read(settings, body)
    assert said in str(refused.value)
    assert str(refused.value).startswith("shop.yaml:")
    assert " more" not in str(refused.value), "all that the grant includes is named"


def test_the_ceiling_caps_every_number(settings: Settings) -> None:
    entry = {"cron": "0 8 * * *", "duration": "1h", "timezone": "UTC", "minReplicas": 500, "maxReplicas": 700}
    numbers = {"minReplicas": 400, "maxReplicas": 600, "schedules": [entry, "night"]}
    own = {**numbers, **external(fallback={"replicas": 550})}
    ((scaler, *_),) = [(each.scaler,) for each in read(settings, own)]
    fallbacks = scaler.rules.find(Fallbacks)
    assert fallbacks is not None
    fallback = fallbacks.of[0]
    assert fallback is not None
    assert (scaler.min_replicas, scaler.max_replicas, fallback.replicas) == (20, 20, 20)
    assert [(each.min_replicas, each.max_replicas) for each in entries_of(scaler)] == [(20, 20), (20, None)]


def test_a_shared_query_of_a_granted_source_may_be_used(settings: Settings) -> None:
    (one,) = read(settings, external(query={"ref": "shared"}))
    assert [query.expr for query in one.scaler.queries] == ["sum(shared)"]


def test_an_age_counts_as_a_query_of_its_own(settings: Settings) -> None:
    """Prometheus is asked for it separately."""
    (one,) = read(settings, external(query={"expr": "load", "prometheus": "shop", "maxAge": "1m"}))
    assert len(queries_of(one.scaler)) == 2


def test_only_the_main_file_makes_a_pool_a_dry_run(settings: Settings) -> None:
    """A connection of pools is built anew when its dry runs change, for all pools."""
    pool = ref(adapter="pools", name="shop-web", namespace=None)
    assert len(read(settings, pool)) == 1
    with pytest.raises(ConfigError, match="dryRun: only the main file makes the connection's targets dry runs"):
        read(settings, {**pool, "dryRun": True})
    assert read(settings, {"dryRun": True})[0].scaler.dry_run


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("name: shop-web\n", "the file is not a list of autoscalers"),
        ("autoscalers: []\n", "the file is not a list of autoscalers"),
        ("- shop-web\n", "expected a mapping, found a text"),
        ("- {name: &a [*a]}\n", "an alias is inside the block that it refers to"),
    ],
)
def test_a_file_that_is_no_list_is_refused(settings: Settings, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_outside(text, "shop.yaml", settings.grants["shop"], settings)
    assert said in str(refused.value)


def test_an_empty_list_has_no_autoscalers(settings: Settings) -> None:
    assert read_outside("[]\n", "shop.yaml", settings.grants["shop"], settings) == ()


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"namePrefix": "shop-b-"}, "grants.pay.namePrefix: 'shop-b-' and 'shop-' of shop begin alike"),
        ({"sources": ["shop"]}, "grants.pay.sources: 'shop' is also granted to shop"),
        (
            {"targets": ["shop-b"], "namespaces": ["shop"]},
            "grants.pay.targets: 'shop-b' on jobs is also granted to shop",
        ),
        ({"targets": ["*"], "namespaces": ["shop"]}, "grants.pay.targets: '*' on jobs is also granted to shop"),
        ({"targets": ["s*p"]}, "has a `*` before its end"),
        ({"namePrefix": ""}, "'' is not the beginning of a name"),
        ({"adapters": ["nowhere"]}, "no connection 'nowhere'"),
        ({"sources": ["nowhere"]}, "no source 'nowhere'"),
        ({"maxReplicas": 0}, "0 is out of range"),
    ],
)
def test_grants_that_reach_into_each_other_are_refused(load_text: Load, other: Mapping[str, Any], said: str) -> None:
    pay = {"namePrefix": "pay-", "maxReplicas": 5, "adapters": ["jobs"], **other}
    with pytest.raises(ConfigError) as refused:
        load_text(dump({**MAIN, "grants": {**MAIN["grants"], "pay": pay}}))
    assert said in str(refused.value)


def test_equal_targets_in_other_namespaces_are_others(load_text: Load) -> None:
    pay = {"namePrefix": "pay-", "maxReplicas": 5, "adapters": ["jobs"], "targets": ["*"], "namespaces": ["pay"]}
    assert load_text(dump({**MAIN, "grants": {**MAIN["grants"], "pay": pay}})).grants.keys() == {
        "shop",
        "pay",
    }


def test_a_grant_gives_nothing_by_itself(load_text: Load) -> None:
    least = {"shop": {"namePrefix": "shop-", "maxReplicas": 1}}
    settings = load_text(dump({**MAIN, "grants": least}))
    with pytest.raises(ConfigError) as refused:
        read(settings, {})
    text = str(refused.value)
    assert all(
        f"the grant does not include the {what}" in text for what in ("connection", "namespace", "target", "source")
    )


def test_the_folder_is_relative_to_the_main_file(load_text: Load, tmp_path: Path) -> None:
    settings = load_text(dump({**MAIN, "autoscalersDir": "autoscalers.d"}))
    assert settings.autoscalers_dir == tmp_path / "autoscalers.d"
    assert settings.shared.controller.sync_period == timedelta(seconds=15)
