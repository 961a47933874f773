"""``mockserver run``: a server for one command, which is judged."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests import warm
from tests.explore.test_command import lives
from tests.served import CHARGE
from tests.waiting import until

pytestmark = pytest.mark.slow

PAY = f"""
import json, os, sys, urllib.request as web
def call(body=None, path="/charge", key=os.environ["MOCKSERVER_SECRET_KEY"]):
    headers = {{"x-secretkey": key, "content-type": "application/json"}}
    data = None if body is None else json.dumps(body).encode()
    return web.urlopen(web.Request(os.environ["MOCKSERVER_URL"] + path, data, headers)).read()
def pay(**more):
    return call({{**{CHARGE!r}, "reference": "order-1", **more}}, "/charge/card")
"""
RULE = (
    "{id: lost, when: {op: charge.create, call: 1}, then: {transport: {at: answer, reset: true}}}"
)
LOST = f"version: 1\nname: lost\nrules: [{RULE}]\n"
BOOKS = """echo '[{"reference": "order-1", "paid": %s}]'"""
TWICE = "try:\n    pay()\nexcept OSError:\n    pay()\n"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "lost.yaml").write_text(LOST, "utf-8")

    def done(
        *options: str, program: str, argv: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        words = [*options, "--", *warm.python(), "-c", PAY + program, *argv]
        summary = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
        return subprocess.run(
            [*warm.python(), "-m", "mockserver", "run", *words],
            cwd=tmp_path,
            env={**os.environ, **summary},
            capture_output=True,
            text=True,
            timeout=60,
        )

    return done


def test_a_command_without_fault_ends_with_0_and_nothing_is_added_to_what_it_prints(
    run: Run,
) -> None:
    done = run(
        program="pay(); print('paid', sys.argv[1:])", argv=("{url}", "{public_key}", "{other}")
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("paid ['http://127.0.0.1:")
    assert "'{other}']" in done.stdout


@pytest.mark.parametrize(
    ("options", "program", "code", "said"),
    [
        ((), "pay(); sys.exit(7)", 7, "timeline\n"),
        ((), "pay(); os.kill(os.getpid(), 15)", 143, "POST /charge/card  201"),
        ((), "pass", 1, "no request has reached the server"),
        (("--scenario", "lost.yaml"), TWICE, 1, "error double-charge"),
        (("--scenario", "lost.yaml"), TWICE + "sys.exit(9)", 9, "error double-charge"),
        (("--invariant", 'net("order-1") <= 10'), "pay()", 1, 'net("order-1") <= 10'),
        (("--books", BOOKS % 1), "pay()", 1, "amount-differs"),
        (("--books", "false"), "pay()", 1, "--books: exit code 1"),
        (("--fail-on", "note"), "pay(capture=False)", 1, "authorisation-forgotten"),
        (("--scenario", "no-such"), "pay()", 2, "no-such"),
        (("--clock", "never"), "pay()", 2, "never"),
    ],
)  # fmt: skip
def test_what_it_ends_with_and_says(
    run: Run, options: tuple[str, ...], program: str, code: int, said: str
) -> None:
    done = run(*options, program=program)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr


@pytest.mark.parametrize(
    ("after_number", "said"), [(390, "****1111 xx"), (300, ": 4111********1111 xx")]
)
def test_a_card_number_is_masked_wherever_the_words_of_the_books_are_cut(
    run: Run, after_number: int, said: str
) -> None:
    words = f"4111111111111111 {'x' * after_number}"
    done = run("--books", f"sh -c 'echo {words} >&2; exit 1'", program="pay()")
    assert "--books: exit code 1: " in done.stderr
    assert said in done.stderr
    assert "111111111" not in done.stderr


@pytest.mark.parametrize(
    ("options", "program"),
    [
        (("--scenario", "lost.yaml"), "try:\n    pay()\nexcept OSError:\n    " "call(path='/charge?Reference=order-1')\n"),
        (("--books", BOOKS % 12.5), "pay()"),
        (("--invariant", 'net("order-1") <= 20'), "pay()"),
        ((), "pay(capture=False)"),
        ((), "call(key='sk_of_another_client')"),
    ],
)  # fmt: skip
def test_a_careful_command_is_not_accused(run: Run, options: tuple[str, ...], program: str) -> None:
    done = run(*options, program=program)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("own", "excepted"),
    [
        ({}, "127.0.0.1,localhost"),
        ({"NO_PROXY": "shop.example"}, "shop.example,127.0.0.1,localhost"),
        ({"no_proxy": "localhost, shop.example,"}, "localhost, shop.example,127.0.0.1"),
        ({"NO_PROXY": "*"}, "*"),
    ],
)
def test_behind_a_proxy_a_command_reaches_its_sandbox(
    run: Run, own: dict[str, str], excepted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    done = run(program="pay(); print(os.environ['NO_PROXY'], os.environ['no_proxy'], sep='|')")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", f"{excepted}|{excepted}\n")


def test_each_spelling_keeps_what_it_has(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "http_proxy": "http://127.0.0.1:1",
        "NO_PROXY": "a.example",
        "no_proxy": "b.example",
    }.items():
        monkeypatch.setenv(name, value)
    done = run(program="pay(); print(os.environ['NO_PROXY'], os.environ['no_proxy'], sep='|')")
    assert done.stdout == "a.example,127.0.0.1,localhost|b.example,127.0.0.1,localhost\n", (
        done.stderr
    )


def test_without_a_proxy_the_environment_is_as_it_was(run: Run) -> None:
    done = run(
        program="pay(); print([name for name in os.environ if name.lower().endswith('_proxy')])"
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_findings_become_annotations_a_summary_and_a_file(run: Run, tmp_path: Path) -> None:
    shown = run("--scenario", "lost.yaml", "--format", "github", program=TWICE)
    assert shown.stdout.startswith("::error title=double-charge")
    assert "fault reset at answer  rule lost" in (tmp_path / "summary.md").read_text()
    run("--scenario", "lost.yaml", "--format", "sarif", "--out", "found.sarif", program=TWICE)
    assert json.loads((tmp_path / "found.sarif").read_text())["runs"][0]["results"]


def test_a_program_that_is_not_there_is_said() -> None:
    done = subprocess.run(
        [*warm.python(), "-m", "mockserver", "run", "--", "no-such-program"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (2, "no-such-program: No such file or directory\n")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_ends_with_the_run(number: int, tmp_path: Path) -> None:
    program = (
        "open('url', 'w').write(os.environ['MOCKSERVER_URL']); os.rename('url', 'told'); "
        "import time; time.sleep(600)"
    )
    started = subprocess.Popen(
        [sys.executable, "-m", "mockserver", "run", "--", sys.executable, "-c", PAY + program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(warm.ROOT)},
        stderr=subprocess.DEVNULL,
    )
    until(lambda: (tmp_path / "told").exists())
    url = (tmp_path / "told").read_text()
    assert is_there(url)
    started.send_signal(number)
    started.wait(30)
    until(lambda: not is_there(url))


def test_a_run_that_is_interrupted_before_its_program_begins_leaves_nothing(tmp_path: Path) -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", "mockserver", "run", "--", "sleep", "60"],
        env={**os.environ, "PYTHONPATH": str(warm.ROOT), "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
    )
    until(lambda: any(tmp_path.iterdir()))
    started.send_signal(signal.SIGTERM)
    _, said = started.communicate(timeout=30)
    assert (started.returncode, said, list(tmp_path.iterdir())) == (130, b"interrupted\n", [])


def is_there(url: str) -> bool:
    try:
        return bool(urlopen(f"{url}/healthz", timeout=60).status == 200)
    except (URLError, OSError):
        return False


LEAVES = """
child = "import subprocess; print(subprocess.Popen(['sleep', '300']).pid, flush=True)"
import subprocess
for is_apart in (False, True):
    subprocess.run(
        [sys.executable, "-c", child], stdout=open(f"pid-{is_apart}", "w"), start_new_session=is_apart
    )
pay()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_what_the_command_has_left_running_is_ended(run: Run, tmp_path: Path) -> None:
    done = run(program=LEAVES)
    assert done.returncode == 0, done.stderr
    for is_apart in (False, True):
        assert not lives(int((tmp_path / f"pid-{is_apart}").read_text()))
