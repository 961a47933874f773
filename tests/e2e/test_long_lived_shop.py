"""A shop that is started once, in another language: tested by pytest with ``mockserver_app``, and
by a shell script."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import needs, warm
from tests.plugin.nested import ROOT, pytest_in
from tests.served import serve
from tools import docs

NODE_SHOP = Path(__file__).with_name("node_shop")
KEY = "sk_shell"
pytestmark = needs.program("node")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(
        shutil.copytree(NODE_SHOP, tmp_path / "shop", ignore=shutil.ignore_patterns("__pycache__"))
    )


def test_the_shop_is_tested_by_pytest(project: Path) -> None:
    done = pytest_in(project)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_the_documented_recipe_runs(project: Path) -> None:
    text = (docs.ROOT / "docs" / "findings.md").read_text("utf-8")
    shown = {
        found["what"].removeprefix("app "): found["text"] for found in docs.BLOCK.finditer(text)
    }
    for name in ("conftest.py", "test_shop.py"):
        (project / name).write_text(shown[name])
    done = pytest_in(project)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_a_careless_shop_fails_the_test_in_which_it_paid_twice(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARELESS", "1")
    done = pytest_in(project)
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout
    assert "FAILED test_shop.py::test_a_lost_answer" in done.stdout
    assert "error double-charge: The customer was charged twice" in done.stdout


@contextmanager
def running(environ: dict[str, str]) -> Iterator[str]:
    """The shop's address."""
    command = ["node", str(NODE_SHOP / "shop.mjs")]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@needs.program("curl")
@pytest.mark.parametrize(("careless", "code"), [("", 0), ("1", 1)])
def test_the_shop_is_tested_by_a_shell_script(tmp_path: Path, careless: str, code: int) -> None:
    command = tmp_path / "mockserver"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(warm.python())} -m mockserver "$@"\n')
    command.chmod(0o755)
    server = serve()
    try:
        environ = {
            **os.environ,
            "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "MOCKSERVER_URL": f"http://127.0.0.1:{server.port}",
            "MOCKSERVER_SECRET_KEY": KEY,
            "CARELESS": careless,
        }
        with running(environ) as shop:
            script = ["sh", str(NODE_SHOP / "test.sh")]
            done = subprocess.run(
                script,
                env={**environ, "SHOP": shop},
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
    finally:
        server.stop()
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout.startswith("no findings\n")
    assert ("error double-charge" in done.stdout) is bool(careless)
