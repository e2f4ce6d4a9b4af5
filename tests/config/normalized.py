"""Two ways to write the same file."""

from pathlib import Path

FILE = """
controller: {syncPeriod: 15s}
prometheus:
  default: {url: "http://localhost:9090", headers: {X-Scope-OrgID: one}, params: {token: first}}
adapters:
  local: {type: process, maxTotal: 9, pools: {web: {command: [web], env: {KEY: first}}}}
state: {retention: 7d}
web: {listenAddress: "127.0.0.1:1"}
log: {decisions: changed}
notify: {webhook: {url: "http://localhost/first", secretFile: secret}}
schedules:
  day: [{cron: "0 8 * * *", duration: 10h, timezone: UTC, minReplicas: 2}]
  sale: [{start: "2026-11-27T00:00", end: "2026-11-28T00:00", timezone: UTC, minReplicas: 3}]
grants:
  shop: {namePrefix: shop-, adapters: [local], maxReplicas: 5}
queries:
  load: {expr: load}
autoscalers:
  - name: web
    scaleTargetRef: {adapter: local, name: web}
    maxReplicas: 9
    metrics:
      - {type: External, external: {metric: {name: load}, query: {ref: load}, target: {type: Value, value: 1}}}
    schedules: [day, sale]
    brakes: {outsideChange: false}
"""


def file(folder: Path, text: str = FILE) -> Path:
    path = folder / "autoscaler.yaml"
    path.write_text(text)
    return path
