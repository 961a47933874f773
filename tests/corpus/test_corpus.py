"""Shops with one planted bug each, beside careful ones, under `mockserver explore` as a stranger
runs it: each bug that the findings know is found where it shows, and no careful shop is accused.
Source: docs/explore.md, What it runs."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from mockserver.explore.verdicts import Verdict
from tests import needs, warm
from tests.depth import tries

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAMS = {".py": ["python"], ".sh": ["sh"], ".mjs": ["node"], ".php": ["php", "-n"]}
BUGGY = yaml.safe_load((HERE / "corpus.yaml").read_text("utf-8"))
RECONCILING = {
    "pays_beside_pending_careful.py",
    "ships_bounced_careful.py",
    "ships_pending_careful.mjs",
    "ships_returned_careful.py",
}
"""Shops with a nightly job."""
CORRECT = yaml.safe_load((HERE / "correct" / "correct.yaml").read_text("utf-8"))
RECONCILING |= {f"correct/{name}" for name, row in CORRECT.items() if row.get("nightly")}
HOW = {"bare": False, "books": True}
"""Whether the books of a shop are read."""
ONLY_DOUBT = ["doubt-left-open"]
HOW_QUICKLY = tries({"books": True}, HOW)
"""Without books, which shows a bug by its findings alone, only with ``--deep``."""


def twin(name: str) -> str:
    """The file of the careful twin of a shop."""
    path = Path(name)
    return f"{path.stem}_careful{path.suffix}"


def tried(
    folder: Path, url: str, shop: str, row: Mapping[str, Any], *, books: bool
) -> dict[str, list[str]]:
    """Each cell of a shop with its verdict and its findings. It passes twice alike without a fault,
    and each fault strikes; a shop whose books differ without any is the cell ``baseline``."""
    faults = ",".join([row["faults"], *tries([], [row["near"]] if "near" in row else [])])
    options = [
        "--ops",
        row["ops"],
        "--faults",
        faults,
        "--out",
        str(folder / "explored"),
        "--format",
        "json",
    ]
    options += ["--client-timeout", row["client-timeout"]] if "client-timeout" in row else []
    asked = [
        *(bookkeeping(shop) if books else nightly_job(shop)),
        *(["--settle", row["settle"]] if "settle" in row else []),
    ]
    done = explore(folder, url, shop, *options, *asked)
    if done.returncode == 3 and books:
        return {"baseline": ["unsafe", done.stderr]}
    assert done.returncode in (0, 1), done.stderr
    cells = json.loads(done.stdout)["cells"]
    assert cells
    assert [cell for cell in cells if cell["verdict"] in ("hung", "not reached")] == []
    found = {
        f"{cell['point']} {cell['fault']}": [cell["verdict"], *cell["findings"]] for cell in cells
    }
    if "seeds" in row:
        found |= swarmed(folder, url, shop, [*options, *asked, "--seeds", str(row["seeds"])])
    return found | (
        replayed(folder, url, shop, [*asked, "--replay", str(ROOT / row["replay"])])
        if "replay" in row
        else {}
    )


def bookkeeping(shop: str) -> list[str]:
    """The options that read a shop's books."""
    command = shlex.join(started(HERE / shop))
    return ["--books", f"{command} books", *nightly_job(shop)]


def nightly_job(shop: str) -> list[str]:
    """The option that runs a shop's nightly job: without it a payment stays in doubt."""
    command = shlex.join(started(HERE / shop))
    return ["--reconcile", f"{command} reconcile"] if shop in RECONCILING else []


def swarmed(folder: Path, url: str, shop: str, options: list[str]) -> dict[str, list[str]]:
    """The worst run of a swarm, with as few faults as it takes; two are enough."""
    cells = json.loads(explore(folder, url, shop, *options).stdout)["cells"]
    worst = max(cells, key=lambda cell: list(Verdict).index(cell["verdict"]))
    is_doubt = worst["findings"] == ONLY_DOUBT
    assert worst["verdict"] != "unsafe" or is_doubt or worst["fault"].count("+") == 1
    return {"seeds": [worst["verdict"], *worst["findings"]]}


def replayed(folder: Path, url: str, shop: str, options: list[str]) -> dict[str, list[str]]:
    """The same of one run under a scenario."""
    said = explore(folder, url, shop, *options).stdout
    found = [
        line.split()[1].rstrip(":")
        for line in said.splitlines()
        if line.startswith(("error ", "warning "))
    ]
    return {"replay": [said.partition(":")[0], *found]}


def started(shop: Path) -> list[str]:
    """The command that starts a shop."""
    return [*(warm.python() if shop.suffix == ".py" else PROGRAMS[shop.suffix]), str(shop)]


def explore(folder: Path, url: str, shop: str, *options: str) -> subprocess.CompletedProcess[str]:
    program, *_ = PROGRAMS[Path(shop).suffix]
    if program != "python":
        needs.find_program(program)
    return subprocess.run(
        [
            *warm.python(),
            "-m",
            "mockserver",
            "explore",
            "--url",
            url,
            *options,
            "--",
            *started(HERE / shop),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("books", HOW_QUICKLY.values(), ids=HOW_QUICKLY)
@pytest.mark.parametrize("name", BUGGY)
def test_a_bug_is_found_where_it_shows(tmp_path: Path, url: str, name: str, books: bool) -> None:
    found, wanted = (
        tried(tmp_path, url, name, BUGGY[name], books=books),
        BUGGY[name].get("books" if books else "bare", {}),
    )
    assert all(any(finding in said for said in found[cell]) for cell, finding in wanted.items()), (
        found
    )
    others = {
        cell: said for cell, said in found.items() if said[0] == "unsafe" and cell not in wanted
    }
    # A fault near to the one that tells may show the same bug, and no other; so may both, one at
    # each of two calls.
    near = BUGGY[name].get("near", "").split(",")
    telling = {*near, *BUGGY[name]["faults"].split(",")}
    same = {
        cell
        for cell, said in others.items()
        if (cell.split()[1] in near or ("+" in cell and set(cell.split()[1].split("+")) <= telling))
        and set(wanted.values()) & set(said)
    }
    assert {cell: said for cell, said in others.items() if cell not in same} == {}


@pytest.mark.parametrize("books", HOW_QUICKLY.values(), ids=HOW_QUICKLY)
@pytest.mark.parametrize("name", BUGGY)
def test_its_careful_twin_is_not_accused(tmp_path: Path, url: str, name: str, books: bool) -> None:
    found = tried(tmp_path, url, twin(name), BUGGY[name], books=books)
    if not books and found.get("seeds", [])[1:] == ONLY_DOUBT:
        # A swarm may strike every recovery; that nothing is known then, its books say.
        del found["seeds"]
    assert {cell for cell, (verdict, *_) in found.items() if verdict == "unsafe"} == set()


@pytest.mark.parametrize("books", HOW_QUICKLY.values(), ids=HOW_QUICKLY)
@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_shop_is_not_accused(tmp_path: Path, url: str, name: str, books: bool) -> None:
    found = tried(tmp_path, url, f"correct/{name}", CORRECT[name], books=books)
    assert {cell for cell, (verdict, *_) in found.items() if verdict == "unsafe"} == set()
    silent = CORRECT[name].get("silent")
    if books and silent is not None:
        assert [cell for cell, said in found.items() if silent in said] == []


def test_each_shop_is_in_a_table() -> None:
    listed = {
        "shop",
        "webhooks",
        "nightly",
        *(Path(one).stem for name in BUGGY for one in (name, twin(name))),
    }
    assert {path.stem for path in HERE.iterdir() if path.suffix in PROGRAMS} - {
        "test_corpus"
    } == listed
    files = {path.name for path in (HERE / "correct").iterdir() if path.suffix in PROGRAMS}
    assert files == set(CORRECT)
