"""What a test needs that not every machine has. A test without it is skipped and says so in words
that the README lists under "Test it"; ``.ci/run`` refuses others."""

import shutil
from typing import Any

import pytest

from tests.depth import tries

DEEP = pytest.mark.skipif(tries(True, False), reason="needs --deep")
"""For a test that lasts, or installs what is published."""


def library(module: str) -> Any:
    """A module of a package that only the extra ``dev`` installs."""
    # The place of the caller is told: of files that are skipped at one place, xdist reports one.
    __tracebackhide__ = True
    return pytest.importorskip(module, reason=f"needs {module.partition('.')[0]}")


def program(name: str) -> pytest.MarkDecorator:
    """For a test that runs a program."""
    return pytest.mark.skipif(shutil.which(name) is None, reason=f"needs the program {name}")


def find_program(name: str, path: str | None = None) -> str:
    """Where a program is."""
    found = shutil.which(name, path=path)
    if found is None:
        pytest.skip(f"needs the program {name}")
    return found
