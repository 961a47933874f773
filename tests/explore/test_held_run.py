"""A command that is killed at one of its calls, or run a second time beside itself, as its user
sees it."""

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mockserver.adapters.strict_yaml import scenario_text
from mockserver.cli import main
from mockserver.explore.failures import FAULTS, InjectionPoint
from mockserver.explore.held_run import held_until
from mockserver.explore.trial import invented_orders
from tests import warm
from tests.depth import tries
from tests.explore.test_command import lives

slow = pytest.mark.slow
CORPUS = Path(__file__).parents[1] / "corpus"
PARENT = """
import os, subprocess, sys
# The child of a child, in a session of its own, outlives its parents unless all are killed.
child = "import subprocess; p = subprocess.Popen(['sleep', '300'], start_new_session=True); print(p.pid, flush=True)"
subprocess.run([sys.executable, "-c", child], stdout=open(os.environ["PIDS"], "w"), start_new_session=True)
sys.exit(subprocess.call([sys.executable, sys.argv[1]]))
"""


def explore(
    url: str,
    folder: Path,
    *given: str,
    command: Sequence[str] = (str(CORPUS / "commits_late.py"),),
    python: Sequence[str] | None = None,
) -> Result:
    there = ["explore", "--url", url, "--out", str(folder / "explored")]
    return CliRunner().invoke(main, [*there, *given, "--", *(python or warm.python()), *command])


def cells(done: Result, folder: Path) -> dict[str, Any]:
    assert done.exit_code in (0, 1), done.output
    rows = json.loads((folder / "explored" / "report.json").read_text())["cells"]
    return {row["fault"]: row for row in rows}


@pytest.mark.parametrize(
    "name", ["crash_before", "crash_between", "crash_at_webhook", "twice_at_request"]
)
def test_what_is_held_strikes_calls_that_move_money(name: str) -> None:
    told = InjectionPoint("charge.create", 1, notifies=True)
    assert FAULTS[name].fits(told)
    assert not FAULTS[name].fits(InjectionPoint("charge.search", 1))
    assert held_until({"rules": [FAULTS[name].rule(told)]}) == (
        "released" if "twice" in name else "all"
    )


def test_an_ordinary_scenario_holds_nothing_until_it_is_released() -> None:
    waits = {"then": {"transport": {"at": "answer", "hold": "300ms"}}}
    assert (
        held_until({"rules": [waits, {"chance": {"p": 0.5, "then": {"decline": "do_not_honour"}}}]})
        is None
    )


def test_orders_that_only_a_webhook_of_the_scenario_names_are_nobodys() -> None:
    told = InjectionPoint("charge.create", 1, notifies=True)
    rules = [FAULTS[name].rule(told) for name in ("webhook_unknown", "webhook_foreign")]
    assert invented_orders({"rules": rules[:1]}) == {
        ("reference", "no-such-order"),
        ("charge", "f" * 32),
    }
    assert invented_orders({"rules": rules[1:]}) == {
        ("reference", "another-order"),
        ("charge", "e" * 32),
    }
    assert invented_orders({"rules": [FAULTS["lost_answer"].rule(told)]}) == set()


@slow
def test_a_crash_comes_again_by_its_file_and_by_its_name(url: str, tmp_path: Path) -> None:
    found = cells(explore(url, tmp_path, "--faults", "crash_before,crash_between"), tmp_path)
    verdicts = {fault: row["verdict"] for fault, row in found.items()}
    assert verdicts == {"crash_before": "survived", "crash_between": "unsafe"}
    for given in (found["crash_between"]["scenario"], "charge.create#1/crash_between"):
        again = explore(url, tmp_path, "--replay", given)
        assert (again.exit_code, "\nerror double-charge" in again.output) == (1, True), again.output
        assert "unsafe: exit code 0 in " in again.output


@slow
@pytest.mark.parametrize("given", [(), ("--crash",)])
def test_a_crash_that_comes_again_is_compared_with_one_restart(
    url: str, tmp_path: Path, given: tuple[str, ...]
) -> None:
    runs = tmp_path / "runs"
    counts = (
        f"import sys; open({str(runs)!r}, 'a').write('x'); sys.path.append({str(CORPUS)!r}); "
        "import commits_late"
    )
    explore(
        url, tmp_path, *given, "--replay", "charge.create#1/crash_between", command=("-c", counts)
    )
    # Twice alike, once with a restart, once killed with a restart.
    assert runs.read_text() == "x" * 6


@slow
def test_the_restart_may_be_another_command(url: str, tmp_path: Path) -> None:
    restart = shlex.join([*warm.python(), str(CORPUS / "commits_late_careful.py")])
    found = cells(
        explore(url, tmp_path, "--faults", "lost_request", "--restart", restart), tmp_path
    )
    assert [found[fault]["verdict"] for fault in ("crash_before", "crash_between")] == [
        "survived",
        "survived",
    ]


@slow
def test_a_restart_that_pays_again_after_a_good_end_is_no_baseline(
    url: str, tmp_path: Path
) -> None:
    pays = f"import sys; sys.path.append({str(CORPUS)!r}); from shop import pay; pay('order-1', 20)"
    done = explore(url, tmp_path, "--crash", command=("-c", pays))
    assert done.exit_code == 3
    assert (
        "takes money again: name what your shop runs after a reboot: --restart\ncustomer paid 40.00"
        in done.output
    )


@slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_everything_that_a_killed_command_has_started_is_gone(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIDS", str(tmp_path / "pids"))
    command = ("-c", PARENT, str(CORPUS / "commits_late.py"))
    done = explore(
        url, tmp_path, "--faults", "crash_between", command=command, python=[sys.executable]
    )
    assert set(cells(done, tmp_path)) == {"crash_between"}
    assert not lives(int((tmp_path / "pids").read_text()))


HEARS = f"""
import sys, threading
sys.path.append({str(CORPUS)!r})
from http.server import BaseHTTPRequestHandler, HTTPServer
from shop import FOLDER, pay
class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        (FOLDER / "heard").touch()
        self.send_response(200)
        self.end_headers()
if not (FOLDER / "heard").exists():
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    pay("order-1", 20, webhook={{"url": f"http://127.0.0.1:{{server.server_port}}/"}})
    while not (FOLDER / "heard").exists():
        pass
    # Time enough to be killed.
    threading.Event().wait(1)
"""


@slow
def test_a_crash_comes_when_a_webhook_was_taken_which_does_not_count(
    url: str, tmp_path: Path
) -> None:
    done = explore(
        url, tmp_path, "--replay", "charge.create#1/crash_at_webhook", command=("-c", HEARS)
    )
    assert "survived: exit code 0 in " in done.output, done.output
    assert "try 1  taken, which does not count: hold" in done.output
    assert "waiting, next try at" in done.output


@slow
def test_a_call_that_never_comes_is_not_reached(url: str, tmp_path: Path) -> None:
    file = tmp_path / "never.yaml"
    then = "{transport: {at: answer, hold: all}}"
    file.write_text(
        f"version: 1\nname: never\nrules: "
        f"[{{id: r, when: {{op: charge.void, call: 1}}, then: {then}}}]\n"
    )
    done = explore(url, tmp_path, "--replay", str(file))
    assert (done.exit_code, done.output.partition(":")[0]) == (0, "not reached")
    assert "did not strike: r" in done.output


@slow
@pytest.mark.parametrize(
    ("fault", "shop", "said"),
    [
        ("crash_before", "commits_late.py", "survived"),
        ("crash_between", "commits_late.py", "unsafe"),
        ("twice_at_request", "two_workers.py", "unsafe"),
        ("twice_at_answer", "two_workers_careful.py", "survived"),
        ("held_answer", "double_click.py", "unsafe"),
        ("held_answer", "double_click_careful.py", "survived"),
    ],
)
def test_a_run_comes_again_alike_each_time(
    url: str, tmp_path: Path, fault: str, shop: str, said: str
) -> None:
    command = (str(CORPUS / shop),)
    named = explore(url, tmp_path, "--replay", f"charge.create#1/{fault}", command=command)
    assert f"{said}: exit code 0 in " in named.output, named.output
    row = FAULTS[fault].rule(InjectionPoint("charge.create", 1))
    file = tmp_path / "again.yaml"
    file.write_text(
        scenario_text({"version": 1, "name": "again", "rules": [row], "money": ["net(*) <= 20"]})
    )
    seen = set()
    for _ in range(tries(3, 100)):
        lines = explore(url, tmp_path, "--replay", str(file), command=command).output.splitlines()
        findings = (line for line in lines if line.startswith(("error ", "warning ")))
        seen.add((lines[0].partition(":")[0], *findings))
    assert [verdict for verdict, *_ in seen] == [said], seen
