"""The test suite that every adapter passes. It needs no pytest: `autoscaler adapter test` runs it, too.

    class TestNomad(AdapterContract):
        @pytest.fixture
        def harness(self, tmp_path: Path) -> Iterator[Harness]: ...

`Harness` says what the suite needs of a back end; tests/adapters/memory has one in full.
"""

from autoscaler.target.contract.harness import Harness, RecordingLogger, make_context
from autoscaler.target.contract.suite import AdapterContract

__all__ = ["AdapterContract", "Harness", "RecordingLogger", "make_context"]
