"""Commands are run and ended with everything that they have started."""

import os
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from mockserver.explore.command import Commands, Ended, Interrupted
from mockserver.explore.trial import Observed
from tests.explore.after import after

pytestmark = pytest.mark.slow


def run(
    folder: Path, script: str, timeout: float = 20, *, commands: Commands | None = None
) -> Ended:
    made = commands or Commands(os.environ)
    with made.run(["sh", "-c", script], {"told": "so"}, folder / "out", timeout) as ended:
        return ended


def eventually(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end, "it never came to hold"


def lives(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_exit_code_output_and_environment(tmp_path: Path) -> None:
    ended = run(tmp_path, "echo $MOCKSERVER_TOLD; echo loud >&2; exit 7")
    assert ended.exit == 7
    assert (tmp_path / "out").read_text() == "so\nloud\n"


def test_what_is_shown_of_the_output_is_its_end_with_nothing_secret(tmp_path: Path) -> None:
    output = tmp_path / "log"
    secret = (
        '{"cardNumber": "4111111111111111", "ccv": "123"} sk_live_1 cvv=1234 \\"ccv\\": \\"987\\"'
    )
    output.write_bytes(b"\xff" * 1_000_000 + b"x" * 19_000 + secret.encode())
    said = Observed(Ended(1, 0.1), [], after([]), "", output, is_manual=False).printed()
    shown = '{"cardNumber": "4111********1111", "ccv": "***"} sk_*** cvv=*** \\"ccv\\": \\"***\\"'
    assert (len(said), said[-len(shown) :]) == (20_000, shown)


def test_a_signal_is_a_negative_exit_code(tmp_path: Path) -> None:
    assert run(tmp_path, "kill -9 $$").exit == -9


def test_a_command_that_is_not_done_in_time_is_ended_with_its_children(tmp_path: Path) -> None:
    ended = run(tmp_path, "sleep 60 & echo $!; sleep 60", 0.2)
    assert ended.exit is None
    assert ended.seconds < 10
    pid = int((tmp_path / "out").read_text())
    eventually(lambda: not lives(pid))


def test_one_that_does_not_end_when_told_to_is_killed(tmp_path: Path) -> None:
    assert run(tmp_path, "trap '' TERM; while :; do sleep 0.1; done", 0.2).exit is None


def test_what_a_command_leaves_behind_is_ended(tmp_path: Path) -> None:
    assert run(tmp_path, "sleep 60 & echo $!").exit == 0
    pid = int((tmp_path / "out").read_text())
    eventually(lambda: not lives(pid))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_what_left_the_session_of_the_command_is_ended_too(tmp_path: Path) -> None:
    assert run(tmp_path, "setsid sh -c 'echo $$; sleep 60' & sleep 0.2").exit == 0
    pid = int((tmp_path / "out").read_text().split()[0])
    eventually(lambda: not lives(pid))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_what_flees_from_session_to_session_is_ended_too(tmp_path: Path) -> None:
    flees = tmp_path / "flees.sh"
    flees.write_text(f"echo $$ >> {tmp_path}/pids\nsetsid sh $0 &\nsleep 0.01\n")
    assert run(tmp_path, f"setsid sh {flees} & sleep 0.2").exit == 0
    pids = (tmp_path / "pids").read_text()
    eventually(lambda: not any(lives(int(pid)) for pid in pids.split()))
    assert (tmp_path / "pids").read_text() == pids


def test_no_such_program(tmp_path: Path) -> None:
    running = Commands(os.environ).run(["no-such-program"], {}, tmp_path / "out", 1)
    with pytest.raises(FileNotFoundError), running:
        pass


def test_all_are_ended_at_once_and_none_begins_afterwards(tmp_path: Path) -> None:
    commands = Commands(os.environ)
    ends: list[object] = []

    def go() -> None:
        try:
            ends.append(run(tmp_path, "echo up; sleep 60", commands=commands))
        except Interrupted:
            ends.append("interrupted")

    thread = Thread(target=go)
    thread.start()
    eventually(lambda: (tmp_path / "out").exists() and "up" in (tmp_path / "out").read_text())
    commands.end_all()
    thread.join(10)
    assert ends == ["interrupted"]
    with pytest.raises(Interrupted):
        run(tmp_path, "true", commands=commands)


def test_what_a_signal_has_left_running_is_killed_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def strike(*_: object) -> None:
        """A signal strikes when the command has begun, and its block has not."""
        raise KeyboardInterrupt

    monkeypatch.setattr("mockserver.explore.command.Timer", strike)
    out = tmp_path / "out"
    argv = [sys.executable, "-c", "import time; print('alive', flush=True); time.sleep(60)"]
    began = time.monotonic()
    with closing(Commands(os.environ)) as commands:
        with pytest.raises(KeyboardInterrupt):
            commands.done(argv, placeholders={}, output=out, timeout=60)
        [running] = commands._running
        assert running.process.poll() is None
    assert running.process.returncode == -9
    assert time.monotonic() - began < 30


def test_nothing_is_left_to_kill_when_all_have_ended(tmp_path: Path) -> None:
    with closing(Commands(os.environ)) as commands:
        argv = [sys.executable, "-c", ""]
        ended = commands.done(argv, placeholders={}, output=tmp_path / "out", timeout=60)
    assert ended.exit == 0
