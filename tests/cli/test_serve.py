"""``mockserver`` as users start it: a process, a ready line, a health check, a signal."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mockserver

ROOT = Path(mockserver.__file__).resolve().parents[1]


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        [sys.executable, "-m", "mockserver", "--port", "0", "--port-file", str(tmp_path / "port")],
        env={**os.environ, "PYTHONPATH": str(ROOT), "MOCKSERVER_PROT": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield started
    started.kill()
    started.communicate()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the test stops the server with a POSIX signal")
def test_it_serves_is_healthy_and_stops(process: subprocess.Popen[str], tmp_path: Path) -> None:
    assert process.stdout
    ready = process.stdout.readline().strip()
    assert ready == f"ready on http://127.0.0.1:{(tmp_path / 'port').read_text().strip()}"
    check = subprocess.run(
        [sys.executable, "-m", "mockserver", "healthcheck", "--port", ready.rpartition(":")[2]],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (check.returncode, check.stdout) == (0, "ready\n"), check.stderr
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    warning, page, first_call = errors.splitlines()
    assert warning == "warning: MOCKSERVER_PROT is not a known variable; nearest: MOCKSERVER_PORT"
    address = ready.removeprefix("ready on ")
    assert page == f"control page: {address}/__admin"
    assert first_call == f"try: curl -H 'x-secretkey: sk_demo' {address}/charge"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the test stops the server with a POSIX signal")
def test_who_calls_the_command_as_a_function_goes_on_after_it() -> None:
    program = """
import signal, threading
from mockserver.server import serving
from mockserver.cli import main
run = serving._run
def stopped(*given, **more):
    signal.raise_signal(signal.SIGTERM)
    return run(*given, **more)
serving._run = stopped
try:
    main(["serve", "--port", "0"])
except SystemExit as end:
    print("ended with", end.code)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert ended.stdout.splitlines()[-1] == "ended with 0", ended.stderr


def test_create_app_applies_overrides_and_hands_the_rest_on() -> None:
    assert mockserver.create_app(seed=7, real_clock=lambda: 0).world.directory.ready_problems == []
    with pytest.raises(TypeError):
        mockserver.create_app(no_such_option=1)
