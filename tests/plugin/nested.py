"""Runs pytest on a small project, as another project's tests use the plugin."""

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from textwrap import dedent

import pytest

import mockserver
from tests import warm

ROOT = Path(mockserver.__file__).resolve().parents[1]

NEEDS_INSTALLATION = pytest.mark.skipif(
    not any(point.name == "mockserver" for point in entry_points(group="pytest11")),
    reason="needs an installation",
)

CHARGE = """
CHARGE = {
    "providerId": "a26c371f-94f6-40da-add2-28ec8e9da8ed",
    "amount": 12.5,
    "paymentInformation": {"cardNumber": "4111111111111111", "expiryDate": "12/40", "ccv": "123"},
}
"""


def run_pytest(
    folder: Path, *args: str, installed: bool = False, plugins: Sequence[str] = (), **files: str
) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder on files given by name; the rest as for ``pytest_in``."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(CHARGE + dedent(text))
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    return pytest_in(folder, *args, installed=installed, plugins=plugins)


def pytest_in(
    folder: Path, *args: str, installed: bool = False, plugins: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder, with this plugin and no other but ``plugins``; ``installed`` as an
    installation loads it."""
    environ = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "MOCKSERVER_KEYS": "sk_only_this",
        "COLUMNS": "100",
    }
    # What these tests themselves were started with is not meant for the small project; where CI is
    # set, pytest prints more.
    for name in ("PYTEST_ADDOPTS", "CI", "BUILD_NUMBER"):
        environ.pop(name, None)
    if not installed:
        environ.update(
            PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
            PYTEST_PLUGINS=",".join(("mockserver.pytest_plugin", *plugins)),
        )
    return subprocess.run(
        [
            *([sys.executable] if installed else warm.python()),
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            *args,
        ],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=600,
    )
