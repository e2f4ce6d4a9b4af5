"""Matching samples to instances."""

import pytest

from autoscaler.observe.join import join, of_container
from tests.observe.build import instance, point

A = instance("a", "i-1", "10.0.0.1", "10.0.0.1:80")
B = instance("b", "i-2", "10.0.0.2")


def test_an_exact_identity_matches() -> None:
    """The plain case: the label's value is an identity of the instance."""
    one = point(1, instance_id="i-1")
    assert join([one], [A, B], None).points == {"a": [one]}


def test_a_port_is_removed_only_without_an_exact_match() -> None:
    """Two workers on one host differ only in their ports, so an exact match takes precedence."""
    first, second = instance("first", "h:1", "h"), instance("second", "h:2")
    joined = join([point(1, instance="h:1"), point(2, instance="h:2")], [first, second], None)
    assert {name: points[0].value for name, points in joined.points.items()} == {"first": 1, "second": 2}


def test_an_exporters_port_does_not_hide_the_host() -> None:
    """node_exporter's `instance` is host:9100, which back ends do not know."""
    assert list(join([point(1, instance="10.0.0.2:9100")], [A, B], None).points) == ["b"]


SIX = (
    "2001:db8::13",
    "[2001:db8::13]",
    "2001:DB8:0::0013",
    "[2001:DB8::13]",
    "2001:db8::13%eth0",
    "[2001:db8::13%25eth0]",
)
HOST = ("web-1.example", "Web-1.Example")


@pytest.mark.parametrize("forms", [SIX, HOST, ("10.0.0.13",)])
def test_an_address_matches_however_the_two_sides_write_it(forms: tuple[str, ...]) -> None:
    """A back end and Prometheus' service discovery write brackets, ports, zones and cases in their own ways."""
    other = instance("other", "2001:db8::14", "web-2.example", "10.0.0.14")
    with_ports = [f"{form}:9100" for form in forms if form[0] == "[" or ":" not in form]
    for known in forms:
        for label in (*forms, *with_ports):
            one = point(1, instance=label)
            assert list(join([one], [instance("mine", known), other], None).points) == ["mine"], (known, label)


def test_a_name_without_port_is_the_only_instance_of_its_host() -> None:
    """Node metrics have no port, and a back end may know an instance by its own port alone."""
    one, sample = instance("one", "[2001:db8::13]:80"), point(1, instance="2001:DB8::13")
    assert list(join([sample], [one, B], None).points) == ["one"]
    assert not join([sample], [one, instance("two", "[2001:db8::13]:81")], None).points


def test_another_port_of_a_host_is_no_match_for_an_instance_with_a_port() -> None:
    """The sample of a worker that stopped must not become that of the worker that is left on its host."""
    assert not join([point(1, instance="h:2")], [instance("left", "h:1")], None).points


def test_a_host_that_two_instances_share_is_ambiguous() -> None:
    """Guessing would give one instance the load of another."""
    joined = join([point(1, instance="h:9100")], [instance("x", "h"), instance("y", "h")], None)
    assert (joined.points, joined.unmatched) == ({}, ('instance="h:9100"',))


def test_an_identity_of_two_instances_is_ambiguous_even_with_a_unique_host() -> None:
    """The exact match decides. A second attempt without the port must not override it."""
    both = [instance("x", "h:1", "h"), instance("y", "h:1")]
    assert join([point(1, instance="h:1")], both, None).unmatched == ('instance="h:1"',)


def test_unmatched_samples_are_listed_and_never_summed() -> None:
    """Another target's load must not scale this one."""
    joined = join([point(7, instance="elsewhere:1")], [A, B], None)
    assert (joined.points, joined.unmatched) == ({}, ('instance="elsewhere:1"',))


def test_a_sample_without_any_instance_label_is_named_by_its_labels() -> None:
    """A sum() without `by` loses the instance, and the operator must see that."""
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
    """Default labels are tried in order: those of the worker before those of its host."""
    assert list(join([point(1, **labels)], [A, B], None).points) == [owner]


def test_a_reused_port_does_not_match_old_samples() -> None:
    """Prometheus returns a stopped worker's last sample for minutes, and its port may be in use again."""
    worker = instance("web-5", "web-5", "127.0.0.1:20000")
    stale = point(95, instance="127.0.0.1:20000", pool="web", worker="web-1", instance_id="web-1")
    own = point(7, instance="127.0.0.1:20000", pool="web", worker="web-5", instance_id="web-5")
    joined = join([stale], [worker], None)
    assert (joined.points, joined.unmatched) == ({}, ('instance_id="web-1"',))
    assert join([stale, own], [worker], None).points == {"web-5": [own]}


def test_a_configured_label_is_the_only_one_used() -> None:
    """`instanceLabel` replaces the defaults, even where they would match."""
    joined = join([point(1, node="i-2", instance_id="i-1"), point(1, instance_id="i-1")], [A, B], "node")
    assert list(joined.points) == ["b"]
    assert len(joined.unmatched) == 1


def test_many_unmatched_samples_are_counted() -> None:
    """A shared query without `match` returns all samples, and each decision is recorded."""
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
def test_a_containers_samples_are_selected_by_label(labels: dict[str, str], label: str | None, kept: bool) -> None:
    """A sidecar's load is not the application's."""
    assert bool(of_container([point(1, **labels)], "app", label)) is kept


def test_unmatched_samples_are_listed_within_limits() -> None:
    """The server can send a label of 10 MB, and each cycle's record keeps the texts."""
    long = "x" * 10**7
    points = [point(1, instance=f"{number}{long}") for number in range(3)] + [point(1, note=long)]
    joined = join(points, [A, B], None)
    assert [text[:13] for text in joined.unmatched] == [f'instance="{n}xx' for n in range(3)] + ["no alloc_id o"]
    assert max(len(text.encode()) for text in joined.unmatched) < 400


def test_samples_without_a_label_are_counted_too() -> None:
    """Many of them come from one wrong expression."""
    joined = join([point(1, note=f"{number:03}") for number in range(300)], [A, B], None)
    assert joined.unmatched[0].endswith('{note="000"}')
    assert (len(joined.unmatched), joined.more_unmatched) == (20, 280)
