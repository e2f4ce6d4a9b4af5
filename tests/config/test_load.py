"""The settings that a valid file gives."""

from datetime import timedelta
from pathlib import Path

import pytest

from autoscaler import model
from autoscaler.config.authentication import BasicAuth, Tls
from autoscaler.config.settings import Compression, LogSettings, PrometheusSource, StateSettings, WebSettings
from autoscaler.rules.fallback import Fallbacks
from autoscaler.rules.fallback.keys import MetricFallback
from tests.config.conftest import Load
from tests.config.texts import EXTERNAL, HEAD, SCALER, query, scaler
from tests.replaced import replace


def test_defaults_are_those_of_autoscaling_v2_and_the_controller(load_text: Load) -> None:
    """A short file must have the meaning of a short HPA manifest."""
    settings = load_text("autoscalers: []\n")
    assert settings.prometheus == {"default": PrometheusSource("http://localhost:9090")}
    assert (settings.shared.controller.sync_period, settings.state, settings.web) == (
        timedelta(seconds=15),
        StateSettings(),
        WebSettings(),
    )
    only = scaler(load_text)
    assert (only.min_replicas, only.behavior, only.victims, only.dry_run) == (1, None, None, False)
    assert only.options == model.ControllerOptions()
    assert only.sync_period == timedelta(seconds=15)


def test_the_controllers_options_apply_to_every_autoscaler(load_text: Load) -> None:
    """Decisions read only the autoscaler."""
    head = (
        "controller: {syncPeriod: 5s, tolerance: 0.0005, downscaleStabilization: 1m, "
        "cpuInitializationPeriod: 2m, initialReadinessDelay: 0s}\n" + HEAD
    )
    only = scaler(load_text, head=head)
    minute = timedelta(minutes=1)
    assert only.options == model.ControllerOptions(0.0005, minute, 2 * minute, timedelta(0))
    assert only.sync_period == timedelta(seconds=5)
    assert scaler(load_text, ", syncPeriod: 1s", head=head).sync_period == timedelta(seconds=1)


@pytest.mark.parametrize(
    ("written", "ratio"), [("500u", 0.0005), ("1n", 1e-9), ("50m", 0.05), ("'0.1'", 0.1), ("1e-4", 0.0001), ("0", 0.0)]
)
def test_a_tolerance_keeps_its_precision(load_text: Load, written: str, ratio: float) -> None:
    """Kubernetes compares it as a fraction. Rounded to thousandths, 0.0005 would double."""
    assert scaler(load_text, head=f"controller: {{tolerance: {written}}}\n{HEAD}").options.tolerance == ratio


def test_zero_needs_no_unit(load_text: Load) -> None:
    """For durations where 0 means no wait."""
    options = scaler(load_text, head=f"controller: {{downscaleStabilization: 0}}\n{HEAD}").options
    assert options.downscale_stabilization == timedelta(0)


def test_a_key_without_a_value_counts_as_omitted_in_every_section(load_text: Load) -> None:
    """This includes an adapter's section."""
    settings = load_text(
        "autoscalers: []\ncontroller: {syncPeriod: }\n"
        "adapters: {a: {type: process, pools: {web: {command: x, gracePeriod: , initialReplicas: }}}}\n"
    )
    pool = settings.adapters["a"].settings.pools["web"]  # type: ignore[attr-defined]  # the adapter's own settings
    assert (pool.grace_period, pool.initial_replicas) == (timedelta(seconds=10), 1)


@pytest.mark.parametrize(
    ("written", "shards"), [("", 1), (", shards: 1", 1), (", shards: 256", 256), (", shards: ", 1)]
)
def test_a_connection_has_shards(load_text: Load, written: str, shards: int) -> None:
    """The key is not passed to the adapter, whose settings refuse unknown keys."""
    section = load_text(f"autoscalers: []\nadapters: {{a: {{type: groups{written}}}}}\n").adapters["a"]
    assert section.shards == shards


def test_a_connection_of_any_type_has_limits(load_text: Load) -> None:
    """The keys are not passed to the adapter; one without a value counts as omitted."""
    settings = load_text(
        "autoscalers: []\nadapters:\n"
        "  a: {type: groups, shards: 2, removalBudget: {instances: 5, periodSeconds: 60}, maxTotal: 40}\n"
        "  b: {type: process, pools: {p: {command: x}}, maxTotal: 1}\n"
        "  c: {type: groups, removalBudget: , maxTotal: }\n"
    )
    assert settings.limits == {
        "a": model.ConnectionLimits(model.RemovalBudget(5, timedelta(seconds=60)), 40),
        "b": model.ConnectionLimits(max_total=1),
    }


@pytest.mark.parametrize(("total", "hints"), [(4, ()), (3, ("adapters.a.maxTotal",))])
def test_minimums_above_max_total_are_a_hint(load_text: Load, total: int, hints: tuple[str, ...]) -> None:
    """MinReplicas takes precedence over maxTotal, so such a total prevents all growth."""
    metric = "{type: External, external: {metric: {name: q}, query: {expr: q}, target: {type: Value, value: 1}}}"
    each = "{{name: {0}, scaleTargetRef: {{adapter: a, name: {0}/g}}, minReplicas: 2, maxReplicas: 9, metrics: [{1}]}}"
    scalers = ", ".join(each.format(name, metric) for name in ("x", "y"))
    text = f"prometheus: {{default: {{url: 'http://h'}}}}\nadapters: {{a: {{type: groups, maxTotal: {total}}}}}\n"
    assert tuple(hint.path for hint in load_text(f"{text}autoscalers: [{scalers}]\n").hints) == hints


@pytest.mark.parametrize(
    ("controller", "own", "both"), [("true", "false", True), ("false", "true", True), ("false", "false", False)]
)
def test_one_dry_run_key_is_enough(load_text: Load, controller: str, own: str, both: bool) -> None:
    head = f"controller: {{dryRun: {controller}}}\n{HEAD}"
    assert scaler(load_text, f", dryRun: {own}", head=head).dry_run is both


def test_every_metric_type_is_loaded(load_text: Load) -> None:
    settings = load_text(
        HEAD
        + """
queries: {cpu: {expr: cpu}}
autoscalers:
  - name: w
    scaleTargetRef: {adapter: a, name: j/g, namespace: n, victims: {select: least, query: {expr: load}}}
    minReplicas: 0
    maxReplicas: 3
    metrics:
      - {type: Resource, resource: {name: cpu, query: {ref: cpu}, request: 500m,
         target: {type: Utilization, averageUtilization: 60}}}
      - {type: ContainerResource, containerResource: {name: memory, container: c, containerLabel: task,
         query: {ref: cpu}, request: {query: {expr: r}}, target: {type: Utilization, averageUtilization: 70}}}
      - {type: Resource, resource: {name: memory, query: {ref: cpu}, target: {type: AverageValue, averageValue: 1Gi}}}
      - {type: Instances, pods: {metric: {name: i}, query: {expr: i},
         target: {type: AverageValue, averageValue: "100"}}}
      - {type: Object, object: {describedObject: {apiVersion: v1, kind: Route, name: r}, metric: {name: o},
         query: {expr: o}, target: {type: AverageValue, averageValue: 0.5}}}
      - {type: External, external: {metric: {name: e}, query: {expr: e}, target: {type: Value, value: 2k}}}
"""
    )
    (only,) = settings.autoscalers
    cpu, kind, of = model.Query("cpu"), model.MetricType, model.TargetType
    assert only.target == model.TargetRef("a", "j/g", "n")
    assert only.victims == model.VictimRule(model.VictimOrder.LEAST, model.Query("load"))
    assert only.metrics == (
        model.MetricSpec(kind.RESOURCE, "cpu", model.MetricTarget(of.UTILIZATION, 60), cpu, 500),
        model.MetricSpec(
            kind.CONTAINER_RESOURCE,
            "memory",
            model.MetricTarget(of.UTILIZATION, 70),
            cpu,
            model.Query("r"),
            "c",
            "task",
        ),
        model.MetricSpec(kind.RESOURCE, "memory", model.MetricTarget(of.AVERAGE_VALUE, 2**30 * 1000), cpu),
        model.MetricSpec(kind.PODS, "i", model.MetricTarget(of.AVERAGE_VALUE, 100_000), model.Query("i")),
        model.MetricSpec(
            kind.OBJECT,
            "o",
            model.MetricTarget(of.AVERAGE_VALUE, 500),
            model.Query("o"),
            described_object="Route/r",
        ),
        model.MetricSpec(kind.EXTERNAL, "e", model.MetricTarget(of.VALUE, 2_000_000), model.Query("e")),
    )


FALLBACKS = (
    # type of metric, its body without a fallback, its key
    ("Resource", "name: m, target: {type: AverageValue, averageValue: 1}"),
    ("ContainerResource", "name: m, container: c, target: {type: AverageValue, averageValue: 1}"),
    ("Pods", "metric: {name: m}, target: {type: AverageValue, averageValue: 1}"),
    ("Object", "metric: {name: m}, target: {type: Value, value: 1}"),
    ("External", "metric: {name: m}, target: {type: Value, value: 1}"),
)


@pytest.mark.parametrize(("kind", "rest"), FALLBACKS, ids=[kind for kind, _ in FALLBACKS])
def test_every_metric_type_may_have_a_fallback(load_text: Load, kind: str, rest: str) -> None:
    """Its duration defaults to three minutes; its query may be a shared one."""
    key = kind[:1].lower() + kind[1:]

    def fallback(text: str) -> MetricFallback | None:
        metric = f"{{type: {kind}, {key}: {{query: {{expr: q}}, {rest}, fallback: {text}}}}}"
        found = scaler(load_text, metric=metric, head=f"{HEAD}queries: {{crude: {{expr: crude}}}}\n")
        fallbacks = found.rules.find(Fallbacks)
        return None if fallbacks is None else fallbacks.of[0]

    assert fallback("{replicas: 3}") == MetricFallback(timedelta(seconds=180), 3)
    given = "{failureDurationSeconds: 60, query: {ref: crude, match: {a: b}}, allowScaleIn: true}"
    shared = model.Query("crude", match=(("a", "b"),))
    assert fallback(given) == MetricFallback(timedelta(seconds=60), None, shared, allow_scale_in=True)


def test_a_behavior_block_of_a_manifest_loads_unchanged(load_text: Load) -> None:
    """Users copy and paste it from Kubernetes."""
    settings = load_text(
        HEAD
        + f"""
autoscalers:
- name: w
  scaleTargetRef: {{adapter: a, name: j/g}}
  maxReplicas: 3
  metrics: [{EXTERNAL % "{expr: q}"}]
  behavior:
    scaleDown:
      stabilizationWindowSeconds: 300
      selectPolicy: Min
      policies:
      - type: Percent
        value: 100
        periodSeconds: 15
      - type: Pods
        value: 4
        periodSeconds: 1800
      tolerance: 50m
    scaleUp:
      selectPolicy: Disabled
      policies:
"""
    )
    seconds = timedelta(seconds=1)
    down = model.ScalingRules(
        300 * seconds,
        model.SelectPolicy.MIN,
        (
            model.ScalingPolicy(model.PolicyType.PERCENT, 100, 15 * seconds),
            model.ScalingPolicy(model.PolicyType.PODS, 4, 1800 * seconds),
        ),
        0.05,
    )
    up = replace(model.DEFAULT_SCALE_UP, select_policy=model.SelectPolicy.DISABLED)
    assert settings.autoscalers[0].behavior == model.Behavior(up, down)


def test_an_empty_behavior_differs_from_none(load_text: Load) -> None:
    """Without behavior the HPA uses another algorithm; with an empty one, the default policies."""
    assert scaler(load_text, ", behavior: {}").behavior == model.Behavior()
    assert scaler(load_text, ", behavior: ").behavior is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("q", 60),
        ("rate(q[2m])", 120),
        ("rate(q[30s])", 30),
        ("rate(a[1m]) / rate(b[5m])", 300),
        ("max_over_time(rate(q[5m])[1h:1m])", 3600),
        ("sum by (x) (topk(scalar(rate(a[3m])), rate(q[1m])))", 180),
    ],
)
def test_the_window_is_the_longest_range(load_text: Load, text: str, seconds: int) -> None:
    """HPA's CPU rule compares it with the start of an instance."""
    assert query(load_text, f"{{expr: '{text}'}}").window == timedelta(seconds=seconds)
    assert query(load_text, f"{{expr: '{text}', window: 7s}}").window == timedelta(seconds=7)


def test_a_function_of_prometheus_2_is_known(load_text: Load) -> None:
    """In Prometheus 2 of Debian 12, double_exponential_smoothing is called holt_winters."""
    assert query(load_text, "{expr: 'holt_winters(q[2m], 0.5, 0.5)'}").window == timedelta(minutes=2)


@pytest.mark.parametrize("expr", ["1", "scalar(q)", "time() - 3600", "-(pi())"])
def test_a_scalar_is_accepted_for_metrics_without_instances(load_text: Load, expr: str) -> None:
    """External and Object metrics read it as one sample."""
    assert query(load_text, f"{{expr: '{expr}'}}").expr == expr


@pytest.mark.parametrize("expr", ["vector(1)", "q * 2", "time() - q", "sum(q)", "clamp_min(q, scalar(r))"])
def test_arithmetic_with_a_vector_is_a_vector(load_text: Load, expr: str) -> None:
    """Only what can have no labels is refused for metrics with instances."""
    pods = f"{{type: Pods, pods: {{metric: {{name: q}}, query: {{expr: '{expr}'}}, target: %s}}}}"
    metric = pods % "{type: AverageValue, averageValue: 1}"
    assert scaler(load_text, metric=metric).metrics[0].query.expr == expr


def test_a_reference_can_replace_fields_of_the_shared_query(load_text: Load) -> None:
    """The expression stays the same, so that it is still sent once."""
    shared = "{c: {expr: c, instanceLabel: id, window: 3m, maxAge: 1m}}"
    expected = model.Query("c", instance_label="id", window=timedelta(minutes=3), max_age=timedelta(minutes=1))
    assert query(load_text, "{ref: c}", shared) == expected
    assert query(load_text, "{ref: c, match: {b: x, a: y}, window: 1m}", shared) == replace(
        expected, match=(("a", "y"), ("b", "x")), window=timedelta(minutes=1)
    )


def test_every_part_of_a_target_is_loaded(load_text: Load) -> None:
    """Two regions of Nomad may have jobs of the same name."""
    target = "{adapter: a, name: j/g, namespace: shop, region: eu}"
    head, body = "adapters: {a: {type: nomad}}\n", SCALER.replace("{adapter: a, name: j/g}", target)
    (only,) = load_text(f"{head}autoscalers:\n  - {body % (EXTERNAL % '{expr: q}', '')}\n").autoscalers
    assert only.target == model.TargetRef("a", "j/g", "shop", "eu")


def test_anchors_and_merge_keys_work(load_text: Load) -> None:
    """A key of the mapping itself takes precedence."""
    settings = load_text(
        HEAD
        + f"""autoscalers:
  - &one {SCALER % (EXTERNAL % "{expr: q}", "")}
  - {{<<: *one, name: v, scaleTargetRef: {{adapter: a, name: j/h}}}}
  - {{<<: [{{name: u, scaleTargetRef: {{adapter: a, name: j/i}}}}, *one]}}
"""
    )
    assert [(each.name, each.target.name, each.max_replicas) for each in settings.autoscalers] == [
        ("w", "j/g", 3),
        ("v", "j/h", 3),
        ("u", "j/i", 3),
    ]


def test_plain_words_stay_texts(load_text: Load) -> None:
    """YAML 1.1 would read Norway's code as false, and a time as a number in base sixty."""
    got = query(load_text, "{ref: c, match: {country: no, at: 12:30, day: 2024-01-01}}", "{c: {expr: c}}")
    assert got.match == (("at", "12:30"), ("country", "no"), ("day", "2024-01-01"))


def test_every_key_of_a_source_is_loaded(load_text: Load, tmp_path: Path) -> None:
    """Paths are relative to the file."""
    settings = load_text(
        "autoscalers: []\nprometheus: {p: {url: 'https://h:1/prefix', timeout: 2s, basicAuth: {username: u, "
        "passwordFile: pw}, tls: {caFile: ca, certFile: /c, keyFile: k, serverName: s, insecureSkipVerify: true}, "
        "headers: {X-Scope-OrgID: t}, params: {dedup: 'true'}, maxAnswer: 16MiB, "
        "concurrency: 7, compression: on, mergeQueries: false}}\n"
    )
    assert settings.prometheus == {
        "p": PrometheusSource(
            "https://h:1/prefix",
            timedelta(seconds=2),
            BasicAuth("u", tmp_path / "pw"),
            tls=Tls(tmp_path / "ca", Path("/c"), tmp_path / "k", "s", insecure_skip_verify=True),
            headers={"X-Scope-OrgID": "t"},
            params={"dedup": "true"},
            max_answer=16 * 2**20,
            concurrency=7,
            compression=Compression.ON,
            merge_queries=False,
        )
    }


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("sqlite:///state.db", "sqlite:///{folder}/state.db"),
        ("sqlite:////var/state.db", "sqlite:////var/state.db"),
        ("postgresql+psycopg://h/d", "postgresql+psycopg://h/d"),
    ],
)
def test_a_relative_state_file_is_relative_to_the_configuration(
    load_text: Load, tmp_path: Path, given: str, kept: str
) -> None:
    """Systemd chooses the daemon's working directory."""
    state = load_text(f"autoscalers: []\nstate: {{url: '{given}', retention: 7d}}\n").state
    assert state == StateSettings(kept.format(folder=tmp_path), timedelta(days=7))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("{}", StateSettings(None, timedelta(days=30), timedelta(days=2), 5 * 2**30)),
        ("{retention: 1d}", StateSettings(None, timedelta(days=1), timedelta(days=1), 5 * 2**30)),
        ("{detail: 36h, maxSize: 512MB}", StateSettings(None, timedelta(days=30), timedelta(hours=36), 512 * 2**20)),
    ],
)
def test_retention_detail_and_size_of_the_state(load_text: Load, given: str, kept: StateSettings) -> None:
    """A short retention shortens detail. As in Prometheus, 1KB is 1024 bytes."""
    assert load_text(f"autoscalers: []\nstate: {given}\n").state == kept


@pytest.mark.parametrize(
    ("given", "every"), [("", False), ("log: {decisions: changed}", False), ("log: {decisions: all}", True)]
)
def test_only_changed_decisions_are_logged_by_default(load_text: Load, given: str, every: bool) -> None:
    assert load_text(f"autoscalers: []\n{given}\n").log == LogSettings("all" if every else "changed")


def test_labels_are_sorted(load_text: Load) -> None:
    """As in Kubernetes, a value may be empty."""
    text = (
        "adapters: {a: {type: groups}}\nautoscalers:\n- name: web\n  labels: {team: shop, example.org/zone: ''}\n"
        "  scaleTargetRef: {adapter: a, name: job/web}\n  maxReplicas: 2\n  metrics:\n"
        "  - {type: External, external: {metric: {name: q}, query: {expr: q}, target: {type: Value, value: 1}}}\n"
    )
    (scaler,) = load_text(text).autoscalers
    assert scaler.labels == (("example.org/zone", ""), ("team", "shop"))
