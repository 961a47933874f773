"""How a signal ends what a command does: in order, and once."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from mockserver.commands.ending import interruptions, run_interruptible

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def story(number: int, done: list[str], again: int) -> str:
    try:
        os.kill(os.getpid(), number)
        done.append("the step is finished")
        await asyncio.sleep(60)
    finally:
        os.kill(os.getpid(), again)
        await asyncio.sleep(0)
        done.append("put away")
    return "done"


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Signals that end a process do so, whatever the tests themselves were started by."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_cancels_a_coroutine_between_two_steps_and_a_second_one_does_nothing(
    number: int,
) -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), interruptions():
        run_interruptible(story(number, done, again=signal.SIGINT))
    assert done == ["the step is finished", "put away"]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_interrupts_where_no_coroutine_runs(number: int) -> None:
    with pytest.raises(KeyboardInterrupt), interruptions():
        signal.raise_signal(number)


def test_after_a_coroutine_signals_do_what_they_did() -> None:
    async def fails() -> None:
        raise LookupError

    with interruptions():
        inside = signal.getsignal(signal.SIGINT)
        assert run_interruptible(asyncio.sleep(0, "done")) == "done"
        with pytest.raises(LookupError):
            run_interruptible(fails())
        assert signal.getsignal(signal.SIGINT) is inside


def test_an_ignored_signal_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), interruptions():
        run_interruptible(_hung_up(done))
    assert done == ["went on"]


async def _hung_up(done: list[str]) -> None:
    os.kill(os.getpid(), signal.SIGHUP)
    await asyncio.sleep(0)
    done.append("went on")
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.sleep(60)
