"""Runs pytest on a small project, as another project's tests use the plugin."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

import mockserver
from tests import warm

ROOT = Path(mockserver.__file__).resolve().parents[1]

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
    """Run pytest in a folder on files given by name, with this plugin and no other but ``plugins``; ``installed`` as an
    installation loads it."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(CHARGE + dedent(text))
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "MOCKSERVER_KEYS": "sk_only_this"}
    # What these tests themselves were started with is not meant for the small project; where CI is set, pytest
    # prints more.
    for name in ("PYTEST_ADDOPTS", "CI", "BUILD_NUMBER"):
        environ.pop(name, None)
    if not installed:
        environ.update(
            PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTEST_PLUGINS=",".join(("mockserver.pytest_plugin", *plugins))
        )
    return subprocess.run(
        [*([sys.executable] if installed else warm.python()), "-m", "pytest", "-p", "no:cacheprovider", *args],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
    )
