"""Writes the golden states of this version: `python -m tests.record.golden.write`.

Done once for each version of the schema, before it is released. The files are never changed afterwards.
"""

import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from sqlalchemy import make_url

from autoscaler.config.loader import load
from autoscaler.decide import apply_outcome, decide
from autoscaler.model import (
    Autoscaler,
    AwaitingDrain,
    Deployment,
    Direction,
    Failure,
    ManualControls,
    Observation,
    Observed,
    Override,
    Pause,
    Rules,
    Written,
)
from autoscaler.record import schema
from autoscaler.record.backup import back_up
from autoscaler.record.housekeeping import Retention
from autoscaler.record.ledger import Ledger
from autoscaler.record.state import State
from autoscaler.rules.drain import DrainRule
from autoscaler.target.scaled import Identify
from tests.decide.build import NOW, state, value
from tests.record.postgresql import empty_state, running_server
from tests.replaced import replace
from tests.steering import steer

HERE: Final = Path(__file__).parent
CONFIG: Final = """
adapters:
  fleet: {type: memory, groups: {rules: {}, idle: {}, drained: {}, pending: {}}}
  nomad: {type: nomad, address: "http://127.0.0.1:4646"}
queries: {load: {expr: load}}
autoscalers:
  - name: rules
    scaleTargetRef: {adapter: fleet, name: rules}
    minReplicas: 1
    maxReplicas: 50
    warmUp: 30s
    headroom: {replicas: 1}
    recoverSize: false
    brakes: {unfulfilled: {}, loss: {}, outsideChange: {}, afterOutage: true}
    schedules:
      - {cron: "* * * * *", duration: 1h, timezone: UTC, minReplicas: 3}
    behavior:
      scaleDown: {stabilizationWindowSeconds: 600}
    metrics: &metrics
      - type: External
        external: &external
          metric: {name: load}
          query: {ref: load}
          target: {type: AverageValue, averageValue: 10}
          fallback: {replicas: 4}
  - name: idle
    scaleTargetRef: {adapter: fleet, name: idle}
    minReplicas: 1
    maxReplicas: 50
    idleReplicas: 0
    cooldown: 1m
    metrics: [{type: External, external: *external}]
  - name: drained
    scaleTargetRef: {adapter: fleet, name: drained}
    maxReplicas: 50
    metrics: [{type: External, external: *external}]
  - name: pending
    scaleTargetRef: {adapter: fleet, name: pending}
    maxReplicas: 50
    metrics: [{type: External, external: *external}]
  - name: deployed
    scaleTargetRef: {adapter: nomad, name: deployed/work}
    maxReplicas: 50
    metrics: [{type: External, external: *external}]
"""
LOADS: Final = (60, 60, 120, 120, None, None, 30, 30, 20, 20, None)
"""The value of the metric in each cycle; None: it failed."""
RESET: Final = len(LOADS) - 1
"""The cycle in which a deployment has reset the size of `deployed`."""
SCHEMA: Final = "golden"
"""The name of the schema in the dump."""
PERIOD: Final = timedelta(seconds=15)


def scalers_of(folder: Path) -> list[Autoscaler]:
    """Return the autoscalers, with each rule on one of them."""
    file = folder / "autoscaler.yaml"
    file.write_text(CONFIG, encoding="utf-8")
    found = list(load(file).autoscalers)
    return [
        replace(each, rules=Rules([*each.rules, DrainRule(command=("/bin/true",))])) if each.name == "drained" else each
        for each in found
    ]


def identify_of(folder: Path) -> Identify:
    """Return the function that tells what these autoscalers scale, as a daemon has it."""
    return load(folder / "autoscaler.yaml").identify()


def of_connection(scalers: Sequence[Autoscaler]) -> Mapping[str, list[Autoscaler]]:
    """Return the autoscalers by their connection."""
    found: dict[str, list[Autoscaler]] = {}
    for each in scalers:
        found.setdefault(each.target.adapter, []).append(each)
    return found


def observation_of(scaler: Autoscaler, size: int, load: int | None, number: int = 0) -> Observation:
    """Return what the cycle of this number finds."""
    seen = state(size)
    if scaler.name == "deployed" and number == RESET:
        seen = replace(state(1), deployment=Deployment("job-2", size, "leave `count` out of the job file"))
    elif scaler.name == "deployed":
        seen = replace(seen, deployment=Deployment("job-1", 0, ""))
    if scaler.name == "drained":
        seen = replace(seen, awaiting_drain=(AwaitingDrain("i-0"),))
    idle = 0 if scaler.name == "idle" else load
    reading = Failure("no answer") if load is None else value((idle or 0) * 1000)
    return Observation(seen, (reading,))


def fill(opened: State, scalers: list[Autoscaler], scaled: Identify) -> None:
    """Record some cycles, adapter's values, a pause and an override, and a write without an outcome."""
    steer(opened, "drained", ManualControls(Pause(Direction.IN, "ann", "release", NOW, None)))
    steer(opened, "idle", ManualControls(None, Override(2, 9, "ann", "launch", NOW, NOW + timedelta(hours=1))))
    sizes = dict.fromkeys([each.name for each in scalers], 6)
    for connection, its in of_connection(scalers).items():
        ledger = opened.ledger(connection)
        ledger.follow(its, scaled=scaled)
        for number, total in enumerate(LOADS):
            run(ledger, its, sizes, number, total)
        ledger.save_adapter_memory(its[0].target, {"failures": 2})
        announce(ledger, its)


def announce(ledger: Ledger, scalers: Sequence[Autoscaler]) -> None:
    """Commit the intent of `pending`, if it is one of these."""
    history, last = ledger.recall(scalers), NOW + len(LOADS) * PERIOD
    for each in scalers:
        if each.name == "pending":
            made = decide(each, observation_of(each, 6, 400), history["pending"], last)
            assert made.change is not None
            assert ledger.intend([made]) == {}


def run(ledger: Ledger, scalers: Sequence[Autoscaler], sizes: dict[str, int], number: int, load: int | None) -> None:
    """Run one cycle, whose writes succeed."""
    now, history = NOW + number * PERIOD, ledger.recall(scalers)
    seen = {each.name: observation_of(each, sizes[each.name], load, number) for each in scalers}
    made = [decide(each, seen[each.name], history[each.name], now) for each in scalers]
    assert ledger.intend(made) == {}
    done = [one if one.change is None else apply_outcome(one, Written(one.change.size)) for one in made]
    sizes.update({one.name: one.change.size for one in done if one.change is not None})
    assert ledger.record({each.name: each for each in scalers}, Observed(seen), done) == {}


def main() -> None:
    """Write both files, unless they exist."""
    sqlite, dump = HERE / f"state-{schema.VERSION}.db", HERE / f"state-{schema.VERSION}.sql"
    if sqlite.exists() or dump.exists():
        sys.exit(f"{sqlite} exists; a golden state is never written again")
    socket.gethostname = lambda: "vm-1"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scalers = scalers_of(folder)
        opened = State.open(f"sqlite:///{folder / 'state.db'}", folder, Retention())
        fill(opened, scalers, identify_of(folder))
        opened.close()
        back_up(f"sqlite:///{folder / 'state.db'}", folder, sqlite)
        sqlite.chmod(0o644)
        with running_server() as server:
            url = empty_state(server.address)
            opened = State.open(url, folder, Retention())
            assert opened.lease is not None
            opened.lease.turn()
            fill(opened, scalers, identify_of(folder))
            opened.close()
            words = ["pg_dump", "--inserts", "--no-owner", "--no-privileges", "--no-comments", url]
            text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    user = str(make_url(url).username)  # the schema is called like its user
    lines = [line for line in text.replace(user, SCHEMA).splitlines() if not line.startswith(("\\", "--")) and line]
    dump.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
