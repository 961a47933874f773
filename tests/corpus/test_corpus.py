"""Shops with one planted bug each, beside careful ones, under `mockserver explore` as a stranger runs it: each bug that
the findings know is found where it shows, and no careful shop is accused. Source: docs/explore.md, What it runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from tests import warm
from tests.depth import tries

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAMS = {".py": sys.executable, ".sh": "sh", ".mjs": "node", ".php": "php"}
BUGGY = yaml.safe_load((HERE / "corpus.yaml").read_text("utf-8"))
CORRECT = yaml.safe_load((HERE / "correct" / "correct.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One server for all."""
    from mockserver.adapters.local_server import start, stop

    address, process = start(["--log-level", "error"], tmp_path_factory.mktemp("server"))
    yield address
    stop(process)


def twin(name: str) -> str:
    """The file of the careful twin of a shop."""
    path = Path(name)
    return f"{path.stem}_careful{path.suffix}"


def unsafe(folder: Path, url: str, shop: str, row: Mapping[str, str]) -> dict[str, list[str]]:
    """Where a shop is unsafe, and by which findings. It passes twice alike without a fault, and each fault strikes."""
    faults = ",".join([row["faults"], *tries([], [row["near"]] if "near" in row else [])])
    patience = ["--client-timeout", row["client-timeout"]] if "client-timeout" in row else []
    form = ["--out", str(folder / "explored"), "--format", "json"]
    done = explore(folder, url, shop, "--ops", row["ops"], "--faults", faults, *patience, *form)
    assert done.returncode in (0, 1), done.stderr
    cells = json.loads(done.stdout)["cells"]
    assert cells
    assert [cell for cell in cells if cell["verdict"] in ("hung", "not reached")] == []
    found = {f"{cell['point']} {cell['fault']}": cell["findings"] for cell in cells if cell["verdict"] == "unsafe"}
    return found | (replayed(folder, url, shop, ROOT / row["replay"]) if "replay" in row else {})


def replayed(folder: Path, url: str, shop: str, scenario: Path) -> dict[str, list[str]]:
    """The same of one run under a scenario."""
    said = explore(folder, url, shop, "--replay", str(scenario)).stdout
    found = [line.split()[1].rstrip(":") for line in said.splitlines() if line.startswith(("error ", "warning "))]
    return {"replay": found} if said.startswith("unsafe") else {}


def explore(folder: Path, url: str, shop: str, *options: str) -> subprocess.CompletedProcess[str]:
    path = HERE / shop
    if shutil.which(program := PROGRAMS[path.suffix]) is None:
        pytest.skip(f"needs {program}")
    return subprocess.run(
        [*warm.python(), "-m", "mockserver", "explore", "--url", url, *options, "--", program, str(path)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("name", BUGGY)
def test_a_bug_is_found_where_it_shows(tmp_path: Path, url: str, name: str) -> None:
    found, wanted = unsafe(tmp_path, url, name, BUGGY[name]), BUGGY[name].get("today", {})
    assert found.keys() == wanted.keys()
    assert all(finding in found[cell] for cell, finding in wanted.items()), found


@pytest.mark.parametrize("name", BUGGY)
def test_its_careful_twin_is_not_accused(tmp_path: Path, url: str, name: str) -> None:
    assert unsafe(tmp_path, url, twin(name), BUGGY[name]) == {}


@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_shop_is_not_accused(tmp_path: Path, url: str, name: str) -> None:
    assert unsafe(tmp_path, url, f"correct/{name}", CORRECT[name]) == {}


def test_each_shop_is_in_a_table() -> None:
    listed = {"shop", "webhooks", *(Path(one).stem for name in BUGGY for one in (name, twin(name)))}
    assert {path.stem for path in HERE.iterdir() if path.suffix in PROGRAMS} - {"test_corpus"} == listed
    files = {path.name for path in (HERE / "correct").iterdir() if path.suffix in PROGRAMS}
    assert files == set(CORRECT)
