"""Which instance a sample belongs to."""

import pytest

from autoscaler.observe.join import join, of_container
from tests.observe.build import instance, point

A = instance("a", "i-1", "10.0.0.1", "10.0.0.1:80")
B = instance("b", "i-2", "10.0.0.2")


def test_an_exact_identity_matches() -> None:
    """The plain case: the label's value is one of the instance's names."""
    one = point(1, instance_id="i-1")
    assert join([one], [A, B], None).points == {"a": [one]}


def test_a_port_is_only_left_off_when_nothing_matches_with_it() -> None:
    """Two workers on one host differ in their port alone: what matches exactly must win."""
    first, second = instance("first", "h:1", "h"), instance("second", "h:2")
    joined = join([point(1, instance="h:1"), point(2, instance="h:2")], [first, second], None)
    assert {name: points[0].value for name, points in joined.points.items()} == {"first": 1, "second": 2}


def test_an_exporters_port_does_not_hide_the_host() -> None:
    """node_exporter's `instance` is host:9100, which no back end knows."""
    assert list(join([point(1, instance="10.0.0.2:9100")], [A, B], None).points) == ["b"]


@pytest.mark.parametrize("address", ["[fd00::1]:9100", "fd00::1"])
def test_ipv6_addresses_match_with_and_without_port(address: str) -> None:
    """The last group of a bare IPv6 address is not a port."""
    assert list(join([point(1, instance=address)], [instance("six", "fd00::1"), B], None).points) == ["six"]


def test_a_host_that_two_instances_share_is_ambiguous() -> None:
    """Guessing would give one instance the load of another."""
    joined = join([point(1, instance="h:9100")], [instance("x", "h"), instance("y", "h")], None)
    assert (joined.points, joined.unmatched) == ({}, ('instance="h:9100"',))


def test_what_two_instances_are_called_is_ambiguous_even_when_the_host_is_not() -> None:
    """The exact match decides; a second try without the port must not overrule it."""
    both = [instance("x", "h:1", "h"), instance("y", "h:1")]
    assert join([point(1, instance="h:1")], both, None).unmatched == ('instance="h:1"',)


def test_what_matches_nothing_is_named_and_never_summed_in() -> None:
    """A stranger's load must not scale this target."""
    joined = join([point(7, instance="elsewhere:1")], [A, B], None)
    assert (joined.points, joined.unmatched) == ({}, ('instance="elsewhere:1"',))


def test_a_sample_without_any_instance_label_is_named_by_its_labels() -> None:
    """sum() without `by` loses the instance: the operator must see that it did."""
    (name,) = join([point(7, job="web")], [A], None).unmatched
    assert name.endswith('{job="web"}')
    assert "instance" in name


@pytest.mark.parametrize(
    ("labels", "owner"),
    [
        ({"alloc_id": "i-1", "instance": "10.0.0.2"}, "a"),
        ({"task_id": "i-1", "container_id": "i-2"}, "a"),
        ({"container_id": "i-1", "instance_id": "i-2"}, "a"),
        ({"instance_id": "i-1", "instance": "10.0.0.2"}, "a"),
        ({"instance": "10.0.0.2"}, "b"),
    ],
)
def test_the_first_label_present_decides(labels: dict[str, str], owner: str) -> None:
    """The order of DEFAULT labels: what names the worker itself goes before what names its host."""
    assert list(join([point(1, **labels)], [A, B], None).points) == [owner]


def test_a_port_that_another_worker_had_before_joins_none_of_its_samples() -> None:
    """Prometheus returns the last sample of a worker that is gone for minutes, and its port may be in use again."""
    worker = instance("web-5", "web-5", "127.0.0.1:20000")
    stale = point(95, instance="127.0.0.1:20000", pool="web", worker="web-1", instance_id="web-1")
    own = point(7, instance="127.0.0.1:20000", pool="web", worker="web-5", instance_id="web-5")
    joined = join([stale], [worker], None)
    assert (joined.points, joined.unmatched) == ({}, ('instance_id="web-1"',))
    assert join([stale, own], [worker], None).points == {"web-5": [own]}


def test_a_given_label_is_the_only_one_looked_at() -> None:
    """`instanceLabel` overrules the defaults, also where they would match."""
    joined = join([point(1, node="i-2", instance_id="i-1"), point(1, instance_id="i-1")], [A, B], "node")
    assert list(joined.points) == ["b"]
    assert len(joined.unmatched) == 1


def test_a_fleet_of_strangers_is_counted_and_not_listed() -> None:
    """A shared query without `match` holds everybody's samples; decisions are recorded every few seconds."""
    strangers = [point(1, instance=f"stranger-{number:03}") for number in range(500)]
    joined = join(strangers, [A], None)
    assert (len(joined.unmatched), joined.more_unmatched) == (20, 480)


@pytest.mark.parametrize(
    ("labels", "label", "kept"),
    [
        ({"task": "app"}, None, True),
        ({"container": "app"}, None, True),
        ({"task": "side", "container": "app"}, None, False),
        ({"name": "app"}, "name", True),
        ({"task": "app"}, "name", False),
        ({}, None, False),
    ],
)
def test_a_containers_samples_are_told_by_their_label(labels: dict[str, str], label: str | None, kept: bool) -> None:
    """A sidecar's load is not the application's."""
    assert bool(of_container([point(1, **labels)], "app", label)) is kept


def test_unmatched_samples_are_named_within_bounds() -> None:
    """A label of 10 MB is a server's choice, and each cycle's row keeps the texts."""
    long = "x" * 10**7
    points = [point(1, instance=f"{number}{long}") for number in range(3)] + [point(1, note=long)]
    joined = join(points, [A, B], None)
    assert [text[:13] for text in joined.unmatched] == [f'instance="{n}xx' for n in range(3)] + ["no alloc_id o"]
    assert max(len(text.encode()) for text in joined.unmatched) < 400


def test_samples_without_a_label_are_counted_too() -> None:
    """A fleet of them is one wrong expression."""
    joined = join([point(1, note=f"{number:03}") for number in range(300)], [A, B], None)
    assert joined.unmatched[0].endswith('{note="000"}')
    assert (len(joined.unmatched), joined.more_unmatched) == (20, 280)
