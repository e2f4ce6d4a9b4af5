"""A case with other names reveals no name, and gives the same decisions."""

import gzip
from datetime import timedelta
from pathlib import Path

from autoscaler.decide import apply_limits, conclude, decide
from autoscaler.model import (
    Autoscaler,
    ConnectionLimits,
    Instance,
    Observation,
    Phase,
    Query,
    RemovalBudget,
    Standing,
    TargetRef,
    TargetState,
    Written,
)
from autoscaler.whatif.case.anonymity import Anonymizer
from autoscaler.whatif.case.reading import CasePast
from autoscaler.whatif.case.writing import write_case
from autoscaler.whatif.past.past import Cycle, FindingKind
from tests.decide.build import CPU_60, NOW, QUEUE_15, samples, scaler
from tests.replaced import replace
from tests.whatif.case.test_case import eventful
from tests.whatif.pasts import Life, compared

SECRETS = ("acme-shop", "acme-fleet", "eu-acme-1", "acme_requests", "10.7.7.", "acme-i-", "acme-queue", "acme-team")


def anonymized(cycles: list[Cycle]) -> list[Cycle]:
    return list(Anonymizer().cycles(cycles))


def secretive() -> Autoscaler:
    queue = replace(QUEUE_15, name="acme-queue", query=Query('acme_requests{shop="acme-shop"}', "acme-prometheus"))
    return replace(
        scaler(CPU_60, queue, maximum=20),
        name="acme-shop",
        target=TargetRef("acme-fleet", "acme-shop-asg", region="eu-acme-1"),
        labels=(("team", "acme-team"),),
    )


def secret_life() -> Life:
    life = Life(scaler=secretive(), size=3)
    for percent in (60, 120, 60):
        instances = tuple(
            Instance(f"acme-i-{n}", Phase.RUNNING, ready=True, started_at=NOW, identities=frozenset({f"10.7.7.{n}:80"}))
            for n in range(life.size)
        )
        load = samples({each.name: percent * 10 for each in instances}, life.now)
        queue = replace(load, samples={}, unmatched=('host="10.7.7.9"',))
        life.see(Observation(TargetState(life.size, life.size, instances, revision="acme-shop-7"), (load, queue)))
    return life


def test_decisions_are_the_same_with_other_names() -> None:
    life = eventful()
    renamed = anonymized(life.cycles)
    assert len(renamed) == len(life.cycles)
    found = compared(renamed)
    assert found.same == found.compared == len(renamed)
    for before, after in zip(life.cycles, renamed, strict=True):
        assert before.decision is not None
        assert after.decision is not None
        assert (before.decision.current, before.decision.desired) == (after.decision.current, after.decision.desired)
        assert type(before.decision.outcome) is type(after.decision.outcome)


def test_no_name_is_left(tmp_path: Path) -> None:
    life, other = secret_life(), Anonymizer()
    file = tmp_path / "case"
    write_case(file, other.name("acme-shop"), NOW, NOW, other.cycles(life.cycles), anonymized=True)
    text = gzip.decompress(file.read_bytes()).decode()
    assert [secret for secret in SECRETS if secret in text] == []
    assert "autoscaler-1" in text
    found = compared(list(CasePast(file).cycles()))
    assert found.same == found.compared == 3


def test_equal_names_stay_equal() -> None:
    first, second, _ = anonymized(secret_life().cycles)
    assert isinstance(first.observation.target, TargetState)
    assert isinstance(second.observation.target, TargetState)
    assert first.observation.target.instances == second.observation.target.instances[:3]
    assert first.scaler is second.scaler


def test_cpu_stays_cpu() -> None:
    """The HPA has rules for it."""
    (first, *_) = anonymized(secret_life().cycles)
    assert first.scaler is not None
    assert [each.name for each in first.scaler.metrics] == ["cpu", "metricspec-1"]


def test_another_resource_has_the_same_name_everywhere() -> None:
    """The reservation of an instance is found by it."""
    life = Life(scaler=replace(scaler(replace(CPU_60, name="acme-gpu"), maximum=20), name="web"))
    reserved = {"acme-gpu": 1000}
    instances = tuple(
        Instance(each, Phase.RUNNING, ready=True, requests=reserved, container_requests={"main": reserved})
        for each in ("web-1", "web-2")
    )
    life.see(Observation(TargetState(2, 2, instances), (samples({"web-1": 1200, "web-2": 1200}, life.now),)))
    (renamed,) = anonymized(life.cycles)
    assert "acme" not in repr(renamed)
    assert renamed.decision is not None
    name = renamed.decision.metrics[0].name
    assert renamed.decision.desired == 4
    assert isinstance(renamed.observation.target, TargetState)
    assert renamed.observation.target.instances[0].requests == {name: 1000}


def test_a_decision_that_differs_from_the_record_still_differs() -> None:
    """The case may be about it."""
    life = eventful()
    made = life.cycles[0].decision
    assert made is not None
    life.cycles[0] = replace(life.cycles[0], decision=replace(made, desired=7))
    renamed = anonymized(life.cycles[:1])
    assert renamed[0].decision is not None
    assert renamed[0].decision.desired == 7
    found = compared(renamed)
    assert [each.kind for each in found.findings] == [FindingKind.DIFFERENCE]


def test_a_decision_that_the_limits_reduced_is_the_same() -> None:
    life = Life(size=8)
    life.cpu(60)
    life.now += timedelta(minutes=10)
    seen = life.seen(10)
    standing = Standing("acme-fleet", ConnectionLimits(RemovalBudget(2, timedelta(minutes=5))))
    made = decide(life.scaler, seen, life.history, life.now)
    (cut,) = apply_limits([made], {"web": life.history}, standing, life.now).decisions
    life.cycles.append(Cycle(life.now, seen, life.scaler, conclude(cut, Written(6)), life.history))
    renamed = anonymized(life.cycles)
    found = compared(renamed)
    assert found.same == found.compared == 2
    assert "acme" not in repr(renamed)
