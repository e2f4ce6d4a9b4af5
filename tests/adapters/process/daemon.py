"""A daemon for tests that kill it: it keeps the pool `web` in the given folder."""

import sys
import time
from pathlib import Path

from tests.adapters.process.harness import ProcessHarness

harness = ProcessHarness(Path(sys.argv[1]), initialReplicas=3)
harness.settle(3)
print("settled", flush=True)
time.sleep(1000)
