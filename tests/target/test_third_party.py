"""A third party's adapter is found by its entry point, like this project's own."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from adapters.memory import Memory
from autoscaler.errors import AdapterError
from autoscaler.model import Call, TargetRef
from autoscaler.target import Adapter, AdapterSettings, installed, load
from autoscaler.target.contract import AdapterContract, Harness, make_context
from tests.adapters.memory.harness import MemoryHarness

Install = Callable[[str, str], None]

ADAPTER = """
from autoscaler.target import AdapterSettings, TargetState

class Lighthouse:
    class Settings(AdapterSettings):
        lamps: int

    target_keys = frozenset()

    @staticmethod
    def target_problem(target, settings):
        return None

    def __init__(self, context):
        self.lamps = context.settings.lamps

    def observe(self, targets, call):
        return {target: TargetState(self.lamps, self.lamps, ()) for target in targets}
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a distribution as pip does: a module and its dist-info on the path."""

    def put(entry: str, source: str) -> None:
        info = tmp_path / "acme_lighthouse-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-lighthouse\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[autoscaler.adapters]\n{entry}\n")
        (tmp_path / "acme_lighthouse.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        _forget()

    yield put
    sys.modules.pop("acme_lighthouse", None)
    _forget()


def _forget() -> None:
    importlib.invalidate_caches()
    installed.cache_clear()
    load.cache_clear()


def test_a_third_partys_adapter_loads_and_works(install: Install, tmp_path: Path) -> None:
    """No list names it."""
    install("lighthouse = acme_lighthouse:Lighthouse", ADAPTER)
    adapter_type = load("lighthouse")
    settings = adapter_type.Settings.model_validate({"lamps": 4})
    adapter = adapter_type(make_context(settings, tmp_path / "state"))
    target = TargetRef("shore", "north")
    state = adapter.observe([target], Call(make_context(settings, tmp_path).clock.now(), float("inf")))[target]
    assert (state.replicas, state.status_replicas) == (4, 4)  # type: ignore[union-attr]  # an error would fail here


def test_an_adapter_may_use_libraries_that_the_command_line_leaves_out(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None in their place makes an import fail, which saves an idle daemon their memory."""
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    install("lighthouse = acme_lighthouse:Lighthouse", f"import charset_normalizer\n{ADAPTER}")
    assert load("lighthouse").__name__ == "Lighthouse"


WITHOUT_BASE = """
from adapters.memory import Memory

Lighthouse = type("Lighthouse", (), {k: v for k, v in vars(Memory).items() if k not in ("__dict__", "__weakref__")})
Lighthouse.concurrent_writes = 4
Lighthouse.announce = lambda self, target, decision, call: None
"""


class TestWithoutBase(AdapterContract):
    """A class that only has the methods of the contract keeps its promises with the defaults that loading adds."""

    @pytest.fixture
    def harness(self, install: Install, tmp_path: Path) -> Harness:
        install("lighthouse = acme_lighthouse:Lighthouse", WITHOUT_BASE)
        return MemoryHarness(tmp_path / "state", cast("type[Memory]", load("lighthouse")))


def test_a_class_without_the_base_has_its_own_methods_and_the_defaults_of_others(install: Install) -> None:
    """An adapter that was written before a method existed still loads."""
    install("lighthouse = acme_lighthouse:Lighthouse", WITHOUT_BASE)
    kind, target = load("lighthouse"), TargetRef("shore", "north")
    assert not issubclass(importlib.import_module("acme_lighthouse").Lighthouse, Adapter)
    assert (kind.__name__, kind.concurrent_writes) == ("Lighthouse", 4)
    assert kind.implements("announce")
    assert not kind.implements("discover")
    assert kind.canonical(target, None) == target
    assert (kind.one_host, kind.drain_keys, kind.target_keys) == (False, frozenset(), frozenset({"victims"}))


@pytest.mark.parametrize(
    "head",
    [
        "class Lighthouse:\n    __slots__ = ('lamps', '__weakref__')",
        "import abc\nclass Lighthouse(abc.ABC):\n    pass",
        "class B:\n    def __init__(self, **more):\n        super().__init__(**more)\nclass Lighthouse(B):\n    pass",
    ],
)
def test_a_class_of_any_kind_without_the_base_is_built(install: Install, head: str, tmp_path: Path) -> None:
    """Its constructor may call the next one without arguments, as `object` has it."""
    build = "    Settings = AdapterSettings\n    def __init__(self, context):\n        super().__init__()\n"
    install(
        "lighthouse = acme_lighthouse:Lighthouse", f"from autoscaler.target import AdapterSettings\n{head}\n{build}"
    )
    adapter = load("lighthouse")(make_context(AdapterSettings(), tmp_path))
    adapter.close()
    assert adapter.concurrent_writes == 1


def test_an_adapter_is_imported_when_it_is_configured(install: Install) -> None:
    """An installed adapter that is not configured costs nothing."""
    install("lighthouse = acme_lighthouse:Lighthouse", "raise SystemError('imported')")
    assert "lighthouse" in installed()
    assert "acme_lighthouse" not in sys.modules


@pytest.mark.parametrize(
    ("entry", "source", "cause"),
    [
        ("lighthouse = acme_lighthouse:Lighthouse", "import no_such_client", "No module named 'no_such_client'"),
        ("lighthouse = acme_lighthouse:Lighthouse", "1 / 0", "ZeroDivisionError"),
        ("lighthouse = acme_lighthouse:Lighthouse", "", "has no attribute 'Lighthouse'"),
        ("lighthouse = acme_lighthouse:Lighthouse", "class Lighthouse: pass", "has no Settings"),
        ("lighthouse = acme_lighthouse:Lighthouse", "Lighthouse = print", "expected a class, found builtin"),
        (
            "lighthouse = acme_lighthouse:Lighthouse",
            "class Lighthouse:\n    def __init_subclass__(cls, *, lamps): pass",
            "fails to load: TypeError",
        ),
    ],
)
def test_an_adapter_that_fails_to_load_shows_the_cause(install: Install, entry: str, source: str, cause: str) -> None:
    """A plugin that disappeared silently would leave its targets unscaled."""
    install(entry, source)
    with pytest.raises(AdapterError) as error:
        load("lighthouse")
    assert cause in str(error.value)
    assert "acme_lighthouse:Lighthouse" in str(error.value)


def test_an_unknown_type_is_refused_with_the_installed_ones(install: Install) -> None:
    """The error appears before the daemon starts."""
    install("lighthouse = acme_lighthouse:Lighthouse", ADAPTER)
    with pytest.raises(AdapterError, match=r"no adapter of type 'lighthose' is installed; installed: .*lighthouse"):
        load("lighthose")
