"""What a sandbox for each test costs, as CPU time: ``python -m benchmarks.tests``.

In pytest 400 tests of one call each, the server included, beside the same tests with pytest-httpserver (``pip install
pytest-httpserver``); in node:test what a sandbox adds to an empty test, in the process of the tests. CPU time is what a
busy machine moves least; of each figure the best of three runs counts.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REACH, REACH_MILLISECONDS = 1.3, 3.0
CALLS, TESTS, ROUNDS = 400, 200, 3

PYTEST = """
import httpx
import pytest

CLIENT = httpx.Client(trust_env=False)


@pytest.mark.parametrize("number", range({calls}))
def test_one({fixture}, number):
    {before}
    assert CLIENT.get({url}, headers={{"x-secretkey": {key}}}).status_code == 200
"""
OURS = {"fixture": "mockserver", "before": "pass", "url": 'mockserver.url + "/charge"', "key": "mockserver.secret_key"}
THEIRS = {
    "fixture": "httpserver",
    "before": 'httpserver.expect_request("/charge").respond_with_json({"count": 0, "charges": []})',
    "url": 'httpserver.url_for("/charge")',
    "key": '"sk_demo"',
}
NODE = """
import { test } from "node:test";
import { mockserver } from "%s/clients/node/src/index.mjs";

for (let number = 0; number < %d; number++) test(`test ${number}`, %s);
"""


def cpu(*words: str, **environ: str) -> float:
    """The CPU seconds of a command and all that it waited for, the best of some runs."""
    best = float("inf")
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, stdout=subprocess.DEVNULL, env={**os.environ, **environ}, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def pytest_ratio(folder: Path) -> float:
    """How much longer the tests take than with pytest-httpserver."""
    taken = {}
    for name, words in {"ours": OURS, "theirs": THEIRS}.items():
        file = folder / f"test_{name}.py"
        file.write_text(PYTEST.format(calls=CALLS, **words))
        plugins = ["pytest_httpserver.pytest_plugin"] if name == "theirs" else ["mockserver.pytest_plugin"]
        loaded = [word for plugin in plugins for word in ("-p", plugin)]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *loaded, str(file)]
        taken[name] = cpu(*command, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTHONPATH=str(ROOT))
        print(f"pytest, {CALLS} tests of one call, {name}: {taken[name]:.2f} s of CPU")
    return taken["ours"] / taken["theirs"]


def node_milliseconds(folder: Path) -> float:
    """What a sandbox adds to an empty test, in the process of the tests."""
    taken = []
    for number, body in ((TESTS, "() => {}"), (TESTS, "mockserver(async () => {})"), (1, "mockserver(async () => {})")):
        file = folder / f"cost{len(taken)}.test.mjs"
        file.write_text(NODE % (ROOT, number, body))
        command = f"{sys.executable} -m mockserver"
        taken.append(cpu("node", "--test", str(file), MOCKSERVER_COMMAND=command, PYTHONPATH=str(ROOT)))
    empty, with_sandboxes, one = taken
    # What one test costs is the start of the server.
    return (with_sandboxes - one - (empty - cpu("node", "--test", str(folder / "none.test.mjs")))) / TESTS * 1000


def main() -> int:
    """Print the figures; 1 when one misses its reach."""
    missed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "none.test.mjs").write_text('import { test } from "node:test";\ntest("one", () => {});\n')
        if find_spec("pytest_httpserver") is None:
            print("pytest-httpserver is not installed")
        else:
            ratio = pytest_ratio(folder)
            missed |= ratio > REACH
            print(f"ratio {ratio:.2f}, wanted at most {REACH}")
        added = node_milliseconds(folder)
        missed |= added > REACH_MILLISECONDS
        print(f"node:test: a sandbox adds {added:.2f} ms of CPU to a test, wanted at most {REACH_MILLISECONDS}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
