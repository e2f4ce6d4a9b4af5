"""A daemon for tests that is killed: keeps the pool `web` in the folder given until it is."""

import sys
import time
from pathlib import Path

from tests.adapters.process.harness import ProcessHarness

harness = ProcessHarness(Path(sys.argv[1]), initialReplicas=3)
harness.settle(3)
print("settled", flush=True)
time.sleep(1000)
