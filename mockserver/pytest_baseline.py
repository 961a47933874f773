"""What each test asks of its sandbox when nothing fails, learnt by one more run of the tests (docs/pytest.md,
Every failure in every test).

The tests that use a sandbox are run once, in a process of their own, with the arguments of the session that wants to
know. That session then knows every failure to try before it collects a single test, and so do all workers of xdist.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from httpx import HTTPError

from mockserver.remote import ControlRefused, RemoteSandbox

OPTION = "--mockserver-explore-learn"
FIXTURE = "_mockserver_tried"
"""What every fixture that gives a sandbox depends on."""

TRIED_ID = re.compile(r"\[(?:(?P<own>.+)-)?[a-z_]+\.[a-z_]+#[0-9]+-[a-z_]+\]$")
"""End of the id of a test in which a fault is tried."""

Learnt: TypeAlias = dict[str, Any]
"""What is known of one test: its ``place`` (file and line), ``seconds`` that it took, the ``calls`` that it made,
whether its clock was set by hand (``is_manual``), and the reason ``why_not`` to try anything, None when it can be
tried."""

SandboxOf: TypeAlias = Callable[[pytest.Item], RemoteSandbox | None]

_ATTRIBUTE = "mockserver_learnt"
_NO_RUN = ("--collect-only", "--collectonly", "--co", "--pdb", "--trace")
_FROM_ELSEWHERE = {"junitxml": ["--junitxml="], "_cov": ["--no-cov"]}
_TAIL = 2_000
_RUN = """
import sys
sys.path[:] = sys.argv.pop(1).split("\\n")
import pytest
sys.exit(pytest.main())
"""


def learn(config: pytest.Config) -> dict[str, Learnt]:
    """What is known of each test, by its id. Raises ``pytest.UsageError`` with what was printed when none was run."""
    asked = [str(argument) for argument in config.invocation_params.args]
    chosen = [test_itself(argument) for argument in asked if argument not in _NO_RUN]
    for plugin, arguments in _FROM_ELSEWHERE.items():
        chosen += arguments if config.pluginmanager.hasplugin(plugin) else []
    with tempfile.TemporaryDirectory(prefix="mockserver-") as folder:
        file = Path(folder) / "learnt.json"
        extra = ["-k", "", "--maxfail=0", "-o", f"cache_dir={folder}/cache", f"{OPTION}={file}"]
        done = subprocess.run(
            [sys.executable, "-c", _RUN, "\n".join(sys.path), *chosen, *extra],
            cwd=config.invocation_params.dir,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if file.exists():
            known: dict[str, Learnt] = json.loads(file.read_text("utf-8"))
            return known
    said = done.stdout.decode("utf-8", "replace").strip()[-_TAIL:]
    raise pytest.UsageError(f"--mockserver-explore: the tests could not be run as they are:\n{said}")


def test_itself(test: str) -> str:
    """The id of the test itself, where one names a test in which a fault is tried."""
    return TRIED_ID.sub(lambda found: f"[{found['own']}]" if found["own"] else "", test)


def calls_of(sandbox: RemoteSandbox) -> list[dict[str, Any]]:
    """The calls of a test, as a journal shows them, in short. Those of a sandbox that others used before count from
    where the test began."""
    numbers: Counter[str] = Counter()
    calls = []
    for entry in sandbox.journal(**({"since": sandbox.since} if sandbox.since is not None else {})):
        if entry["call"] is not None:
            numbers[entry["op"]] += 1
            short = {"op": entry["op"], "call": numbers[entry["op"]], "status": entry["status"]}
            calls.append({**short, "webhooks": bool(entry["webhooks"])})
    return calls


class Learner:
    """Notes what each test asks of its sandbox, in the process that runs the tests to learn that."""

    def __init__(self, config: pytest.Config, sandbox_of: SandboxOf, asked_of: Callable[[pytest.Item], Any]) -> None:
        self._file = Path(config.getoption(OPTION))
        self._sandbox_of, self._asked_of = sandbox_of, asked_of
        self._known: dict[str, Learnt] = {}

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what uses no sandbox."""
        chosen = [item for item in items if FIXTURE in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Give the report of a test what it asked."""
        report = yield
        sandbox = self._sandbox_of(item)
        if report.when != "call" or not report.passed or hasattr(report, "wasxfail") or sandbox is None:
            return report
        # What cannot be asked any more is not explored.
        with suppress(ControlRefused, HTTPError):
            allowed = self._asked_of(item).allow or ()
            bad = [row["finding"] for row in sandbox.findings("error", finish=True) if row["finding"] not in allowed]
            why_not = f"it has findings without any fault: {', '.join(dict.fromkeys(bad))}" if bad else None
            is_manual = sandbox.call("GET", "/__admin/clock")["mode"] == "manual"
            found = {"calls": calls_of(sandbox), "is_manual": is_manual, "why_not": why_not}
            setattr(report, _ATTRIBUTE, found)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take down what the reports of all workers say."""
        path, line, _ = report.location
        why_not = "it does not pass without any fault"
        plain = {"place": [path, line or 0], "seconds": 0.0, "calls": [], "is_manual": False, "why_not": why_not}
        known = self._known.setdefault(report.nodeid, plain)
        known["seconds"] += report.duration
        known.update(getattr(report, _ATTRIBUTE, {}))
        if report.when == "teardown" and report.failed:
            known["why_not"] = why_not

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand over what was learnt; a worker of xdist has handed over its reports."""
        if not hasattr(session.config, "workerinput"):
            # Workers of xdist report in any order.
            ordered = sorted(self._known.items(), key=lambda one: (one[1]["place"], one[0]))
            self._file.write_text(json.dumps(dict(ordered)), "utf-8")


def named(known: Mapping[str, Learnt], function: str) -> dict[str, Learnt]:
    """What is known of a test function, by the id of each of its own sets of parameters."""
    return {name: learnt for name, learnt in known.items() if name == function or name.startswith(f"{function}[")}
