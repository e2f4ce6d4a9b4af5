"""The file_sd file that tells Prometheus where a pool's workers are.

Source: prometheus.io/docs, configuration, `<file_sd_config>`.
"""

import json

from adapters.process.records import Pool


def render(name: str, pool: Pool) -> str:
    """One entry for each worker that stays, ready or not: what is not scraped would be missing to the autoscaler."""
    entries = [
        {"targets": [f"127.0.0.1:{worker.port}"], "labels": {"pool": name, "worker": worker.name}}
        for worker in pool.staying
        if worker.identity is not None
    ]
    return json.dumps(entries, indent=1) + "\n"
