"""Everything at once, for some seconds, on one server and on two behind nginx: no wrong answer, no
webhook lost."""

import json
import subprocess
from pathlib import Path

import pytest

from tests import needs, warm
from tests.depth import tries
from tests.served import CHARGE, serve

ROOT = Path(__file__).resolve().parents[2]
SECONDS = tries(("3", "2"), ("60", "20"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc"),
]


def soak(folder: Path, *options: str) -> dict[str, dict[str, float]]:
    """The figures of a run that went well."""
    figures = folder / "figures.json"
    command = [*warm.python(), "-m", "benchmarks.soak", "--json", str(figures), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(figures.read_text())["calls"]


def test_one_server_bears_everything_at_once(tmp_path: Path) -> None:
    calls = soak(tmp_path, "--seconds", SECONDS[0], "--connections", "64")
    assert {
        "create",
        "export",
        "import",
        "fork",
        "reset",
        "batch",
        "wait",
        "stream",
        "page",
    } < calls.keys()
    assert calls["all"]["count"] > 100


@needs.program("nginx")
def test_two_servers_behind_nginx_bear_everything_at_once(tmp_path: Path) -> None:
    calls = soak(tmp_path, "--seconds", SECONDS[1], "--connections", "16", "--shards", "2")
    assert calls["all"]["count"] > 50


def test_a_wrong_answer_ends_the_run_with_a_failure(tmp_path: Path) -> None:
    # A scenario that declines everything: nothing is as it must be.
    rule = {
        "id": "no",
        "when": {"op": "charge.create", "request.amount": 12.5},
        "then": {"decline": "expired_card"},
    }
    scenario = tmp_path / "no.json"
    scenario.write_text(json.dumps({"version": 1, "name": "no", "rules": [rule]}))
    server = serve("--scenario", str(scenario))
    try:
        assert server.call("POST", "/charge/card", CHARGE)[0] == 400
        command = [*warm.python(), "-m", "benchmarks.soak", "--seconds", "1", "--connections", "2"]
        done = subprocess.run(
            [*command, "--port", str(server.port)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
        )
    finally:
        server.stop()
    assert done.returncode == 1
    assert "answered 400" in done.stdout
