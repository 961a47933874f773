"""What a sandbox for each test costs, as CPU time: ``python -m benchmarks.tests``.

In pytest 400 tests of one call each, the server included, beside the same tests with
pytest-httpserver (``pip install pytest-httpserver``); in node:test, PHPUnit, JUnit 5 and NUnit what
a sandbox adds to an empty test, in the process of the tests and in the server. What is not
installed is left out. CPU time is what a busy machine moves least; of each figure the best of three
runs counts.
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from benchmarks.run import free_port

ROOT = Path(__file__).resolve().parents[1]
CLIENTS = ROOT / "clients"
SUBREAPER = 36
"""What ``prctl`` of Linux calls a process that becomes the parent of what its children leave
behind."""

REACH, REACH_MILLISECONDS = 1.3, 3.0
CALLS, TESTS, ROUNDS = 400, 1_000, 3

PYTEST = """
import httpx
import pytest

CLIENT = httpx.Client(trust_env=False)

{fixtures}
@pytest.mark.parametrize("number", range({calls}))
def test_one({fixture}, number):
    {before}
    assert CLIENT.get({url}, headers={{"x-secretkey": {key}}}).status_code == 200
"""
OURS = {
    "fixture": "mockserver",
    "before": "pass",
    "url": 'mockserver.url + "/charge"',
    "key": "mockserver.secret_key",
}
THEIRS = {
    "fixture": "httpserver",
    "before": 'httpserver.expect_request("/charge").respond_with_json({"count": 0, "charges": []})',
    "url": 'httpserver.url_for("/charge")',
    "key": '"sk_demo"',
}
SKETCH = {
    "fixture": "sketch",
    "before": "pass",
    "url": 'sketch + "/charge?reference=none"',
    "key": '"sk_demo"',
}
SKETCHED = """
import subprocess
import sys
import time


@pytest.fixture(scope="session")
def sketched():
    process = subprocess.Popen([sys.executable, "{server}", "{port}"], stderr=subprocess.DEVNULL)
    url = "http://127.0.0.1:{port}"
    while True:
        try:
            CLIENT.get(url + "/charge?reference=none")
            break
        except httpx.ConnectError:
            time.sleep(0.01)
    yield url
    process.terminate()
    process.wait()


@pytest.fixture
def sketch(sketched):
    yield sketched
    CLIENT.get(sketched + "/charge?reference=judged")
"""
"""The least that a fixture with a server of its own process needs: the start of a server that has
nothing of ours (``sketch.py``), and one call at the end of each test that asks what it has seen."""

NODE = """
import {{ test }} from "node:test";
import {{ mockserver }} from "{clients}/node/src/index.mjs";

for (let number = 0; number < {tests}; number++) test(`test ${{number}}`, {own});
"""
PHP = """<?php
final class CostTest extends PHPUnit\\Framework\\TestCase
{{
    {own}

    public static function numbers(): array
    {{
        return array_map(fn ($number) => [$number], range(1, {tests}));
    }}

    /** @dataProvider numbers */
    public function test_one(int $number): void
    {{
        $this->addToAssertionCount(1);
    }}
}}
"""
JAVA = """
import com.payfurl.mockserver.*;
import org.junit.jupiter.api.*;

@MockserverTest
class CostTest {{
    @RepeatedTest({tests})
    void one({own}) {{
    }}
}}
"""
CSHARP = """
using NUnit.Framework;

[TestFixture]
public class CostTest{own}
{{
    [Test]
    public void One([Range(1, {tests})] int number)
    {{
    }}
}}
"""


@dataclass(frozen=True)
class Stack:
    """A framework: its command, the file with its tests and what is in there for an empty test and
    for a sandbox."""

    needs: str
    command: str
    file: str
    text: str
    empty: str
    own: str


STACKS = {
    "node:test": Stack(
        "node",
        "node --test {file}",
        "cost.test.mjs",
        NODE,
        "() => {}",
        "mockserver(async () => {})",
    ),
    "PHPUnit": Stack(
        "phpunit",
        "phpunit --no-configuration --do-not-cache-result --bootstrap {clients}/php/autoload.php "
        "{file}",
        "CostTest.php",
        PHP,
        "",
        "use Payfurl\\Mockserver\\WithMockserver;",
    ),
    "JUnit 5": Stack(
        "javac", "sh {clients}/java/test.sh {report}", "CostTest.java", JAVA, "", "Sandbox sandbox"
    ),
    "NUnit": Stack(
        "nunit-console",
        "sh {clients}/dotnet/test.sh {report}",
        "CostTest.cs",
        CSHARP,
        "",
        " : Payfurl.Mockserver.MockserverFixture",
    ),
}


def cpu(*words: str, **environ: str) -> float:
    """The CPU seconds of a command and all that it has started, the best of some runs."""
    best = float("inf")
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, stdout=subprocess.DEVNULL, env={**os.environ, **environ}, check=True)
        with suppress(ChildProcessError):
            while True:
                # A server that has outlived its tests is a child of this process now.
                os.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def pytest_seconds(folder: Path, words: Mapping[str, str], plugin: str, fixture: str = "") -> float:
    """CPU seconds of the tests that use a fixture, which a plugin brings or the tests themselves."""
    file = folder / f"test_{words['fixture']}.py"
    file.write_text(PYTEST.format(calls=CALLS, fixtures=fixture, **words))
    loaded = ["-p", plugin] if plugin else []
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *loaded, str(file)]
    seconds = cpu(*command, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTHONPATH=str(ROOT))
    print(f"pytest, {CALLS} tests of one call, fixture {words['fixture']}: {seconds:.2f} s of CPU")
    return seconds


def pytest_ratio(folder: Path) -> float:
    """How much longer the tests take than with pytest-httpserver; prints the limit beside it."""
    sketched = SKETCHED.format(server=ROOT / "benchmarks" / "sketch.py", port=free_port())
    ours = pytest_seconds(folder, OURS, "mockserver.pytest_plugin")
    theirs = pytest_seconds(folder, THEIRS, "pytest_httpserver.pytest_plugin")
    limit = pytest_seconds(folder, SKETCH, "", sketched)
    print(
        f"a server of its own process and one call a test, without a sandbox: {limit / theirs:.2f}"
    )
    return ours / theirs


def milliseconds(stack: Stack, folder: Path) -> float:
    """What a sandbox adds to an empty test. The start of framework and server is in runs of one
    test too."""
    added = 0.0
    for own, tests, sign in (
        (stack.own, TESTS, 1),
        (stack.own, 1, -1),
        (stack.empty, TESTS, -1),
        (stack.empty, 1, 1),
    ):
        place = Path(tempfile.mkdtemp(dir=folder))
        file = place / stack.file
        file.write_text(stack.text.format(own=own, tests=tests, clients=CLIENTS))
        command = stack.command.format(file=file, clients=CLIENTS, report=place / "report")
        environ = {
            "MOCKSERVER_COMMAND": f"{sys.executable} -m mockserver",
            "TESTS": str(place),
            "CLASS": "CostTest",
        }
        added += sign * cpu(
            *command.split(), PYTHONPATH=str(ROOT), BUILD=str(place / "build"), **environ
        )
    return added / (TESTS - 1) * 1000


def main() -> int:
    """Print the figures; 1 when one misses its reach."""
    missed = False
    ctypes.CDLL(None).prctl(SUBREAPER, 1)
    # An installed package has its byte code.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        if find_spec("pytest_httpserver") is None:
            print("pytest-httpserver is not installed")
        else:
            ratio = pytest_ratio(folder)
            missed |= ratio > REACH
            print(f"ratio {ratio:.2f}, wanted at most {REACH}", flush=True)
        for framework, stack in STACKS.items():
            if which(stack.needs) is None:
                print(f"{framework} is not installed")
                continue
            added = milliseconds(stack, folder)
            missed |= added > REACH_MILLISECONDS
            print(
                f"{framework}: a sandbox adds {added:.2f} ms of CPU to a test, wanted at most "
                f"{REACH_MILLISECONDS}",
                flush=True,
            )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
