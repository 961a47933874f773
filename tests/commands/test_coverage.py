"""``mockserver coverage``: a gate for CI."""

import json
from pathlib import Path

import pytest

from mockserver.explore.failure_coverage import SURVIVED, UNSAFE, Coverage
from tests.running import run

FOUND = Coverage.of(
    ["charge.get"], [("charge.get", "lost_answer", SURVIVED), ("charge.get", "cut_answer", UNSAFE)]
)


@pytest.fixture
def report(tmp_path: Path) -> str:
    file = tmp_path / "report.json"
    file.write_text(json.dumps({"coverage": FOUND.shown()}), "utf-8")
    return str(file)


@pytest.mark.parametrize(("least", "code"), [(FOUND.percent, 0), (FOUND.percent + 1, 1)])
def test_the_gate(report: str, least: int, code: int) -> None:
    done = run("coverage", "--report", report, "--fail-under", str(least))
    assert done.exit_code == code
    lines = done.output.splitlines()
    assert lines[1].startswith(f"charge.get  2 of {FOUND.failures}")
    assert "  cut_answer  " in lines[1]
    assert FOUND.words in lines
    assert (f"below --fail-under {least}" in done.output) is bool(code)


def test_for_programs(report: str) -> None:
    done = run("coverage", "--report", report, "--format", "json")
    assert json.loads(done.output) == FOUND.shown()


@pytest.mark.parametrize(
    "text",
    ["{}", "[]", "no json", '{"coverage": {"map": [{"op": 1}]}}', '{"coverage": {"map": 5}}'],
)
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    done = run("coverage", "--report", str(file))
    assert (done.exit_code, "is no report of" in done.output) == (2, True)


def test_no_server_is_said() -> None:
    done = run("coverage", "--url", "http://127.0.0.1:9")
    assert (done.exit_code, "no server at http://127.0.0.1:9" in done.output) == (5, True)
