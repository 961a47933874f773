"""Modules that run when something of them is first asked for are then what they are otherwise."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Thread
from types import ModuleType

import pytest

from mockserver.adapters import late_modules
from mockserver.adapters.late_modules import Late

ALL = """
import importlib, json, sys
from mockserver.adapters import late_modules
if sys.argv[1:]:
    late_modules.begin()
names = sorted(set(late_modules.LATE) - set(sys.modules))
found = {name: importlib.import_module(name) for name in names}
late = [name for name, one in found.items() if isinstance(one.__spec__.loader, late_modules.Late)]
for one in found.values():
    getattr(one, "no_such_name", None)
print(json.dumps([late, {name: [sorted(vars(one)), type(one.__spec__.loader).__name__, one.__loader__ is
    one.__spec__.loader, list(getattr(one, "__path__", []))] for name, one in found.items()}]))
"""


@pytest.mark.slow
def test_each_is_then_what_it_is_otherwise() -> None:
    def of(*further: str) -> tuple[list[str], dict[str, object]]:
        done = subprocess.run([sys.executable, "-c", ALL, *further], capture_output=True, text=True, check=True)
        late, found = json.loads(done.stdout)
        return late, found

    (none, plain), (late, found) = of(), of("late")
    assert none == []
    assert late == sorted(found)
    assert "uvicorn" in late
    assert found == plain


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A late module that takes a while to run."""
    (tmp_path / "tardy_one.py").write_text("import time\nfirst = 1\ntime.sleep(0.05)\nsecond = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(late_modules, "LATE", {"tardy_one": {"path": "sys.path"}})
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    late_modules.begin()
    import tardy_one  # type: ignore[import-not-found]

    yield tardy_one
    del sys.modules["tardy_one"]


def test_what_its_importers_want_they_have_before_it_runs(module: ModuleType) -> None:
    assert module.path is sys.path
    assert "first" not in vars(module)
    assert isinstance(module.__spec__ and module.__spec__.loader, Late)


def test_a_name_that_it_has_not_is_refused_as_always(module: ModuleType) -> None:
    for _ in range(2):
        with pytest.raises(AttributeError, match=r"module 'tardy_one' has no attribute 'third'$"):
            _ = module.third
    assert "__getattr__" not in vars(module)


def test_one_that_fails_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
    monkeypatch.setattr("time.sleep", None)
    for _ in range(2):
        with pytest.raises(TypeError, match="not callable"):
            _ = module.second
    monkeypatch.undo()
    assert module.second == 2


def test_another_thread_waits_until_it_has_run(module: ModuleType) -> None:
    together, got = Barrier(4), []

    def ask() -> None:
        together.wait()
        got.append(module.second)

    threads = [Thread(target=ask) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert got == [2] * 4
