"""What all tests share: an environment without the developer's own settings."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import sys
from collections.abc import Generator, Iterator
from copy import copy
from functools import cache
from inspect import iscoroutinefunction, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol

from mockserver.settings import PREFIX
from tests import depth

if TYPE_CHECKING:
    from tests.driving import Api
    from tests.served import Process

SLOW = {Path(__file__).with_name(name) for name in ("browser", "e2e", "fuzz", "plugin")}
"""Folders of tests that start a browser or processes, or send thousands of requests."""


@pytest.fixture(autouse=True, scope="session")
def _no_settings_from_outside() -> None:
    """Remove the variables that would change defaults, for this process and all that it starts; but
    for ``MOCKSERVER_NO_FAST_LANE``, with which all tests must pass too."""
    for name in [
        name for name in os.environ if name.startswith(PREFIX) and name != f"{PREFIX}NO_FAST_LANE"
    ]:
        del os.environ[name]


@pytest.fixture
def every_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let others be served at every pause of long work, however little of it has been done."""
    monkeypatch.setattr("mockserver.web.runner.TURN", 0)


@pytest.fixture
def quick_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what this process starts by ``sys.executable`` begin with everything imported."""
    from tests import warm

    monkeypatch.setattr(sys, "executable", warm.program())


@pytest.fixture(scope="session")
def server() -> Iterator[Process]:
    """A real server for all tests that need no options of their own; each takes a key of its
    own."""
    from tests.served import serve

    process = serve("--log-level", "error")
    yield process
    assert process.stop() == 0


@pytest.fixture(scope="session")
def url(server: Process) -> str:
    """The address of that server."""
    return server.url


@pytest.fixture(scope="session")
def _everyones() -> Api:
    """A caller of the application that all tests share which take ``api``: to make one takes longer
    than most tests."""
    from tests.driving import Api

    return Api()


@pytest.fixture
def api(_everyones: Api) -> Api:
    """A caller of an application that has just begun."""
    world = _everyones.app.world
    world.begin(world.directory.reader)
    return copy(_everyones)


@pytest.fixture(scope="module")
def shared() -> Api:
    """A caller of one application for the tests of a file that leave nothing in it, as what is
    refused does."""
    from tests.driving import Api

    return Api()


def pytest_configure(config: pytest.Config) -> None:
    """Set up the depth and the cache of compiled modules."""
    if config.getoption("--deep"):
        depth.dig()
    gc.disable()
    _keep_bytecode(config)
    _keep_files_in_memory()
    _leave_time_out()


def _leave_time_out() -> None:
    """Let no property depend on how busy the machine is."""
    from hypothesis import HealthCheck, settings

    quiet, count = [HealthCheck.too_slow], depth.tries(100, 500)
    settings.register_profile(
        "unhurried", deadline=None, max_examples=count, suppress_health_check=quiet
    )
    settings.load_profile("unhurried")


def _keep_files_in_memory() -> None:
    """Let tests write their files where no disk makes them wait, if there is such a place with
    room."""
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2 * 2**30:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


def _keep_bytecode(config: pytest.Config) -> None:
    """Keep compiled modules in the cache folder of pytest where the environment keeps none beside
    the sources.

    Compiling them anew takes most of the time of a collection and of the many processes that tests
    start.
    """
    if sys.dont_write_bytecode and sys.pycache_prefix is None and hasattr(config, "cache"):
        sys.pycache_prefix = str(config.cache.mkdir("bytecode"))
        sys.dont_write_bytecode = False
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """Let what makes applications take those of earlier tests."""
    from tests.driving import lending

    with lending():
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in a loop of its own."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in signature(pyfuncitem.obj).parameters}
    asyncio.run(pyfuncitem.obj(**given))
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Tell the controller of a test in one message instead of five, where nobody wants to know how
    long its fixtures took: set-ups and ends that went well, and that a test has begun. To write,
    send and read them takes as long as a fifth of all tests of the inner loop."""
    option = item.config.option
    if not hasattr(item.config, "workerinput") or option.durations is not None or option.xmlpath:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Leave the names of a test and of all that it stands in out of its reports: nobody reads them,
    and to send them from worker to controller takes a tenth of what a test costs that does
    nothing."""
    report = yield
    report.keywords = {}
    return report


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Generator[None, int, int]:
    """How many processes run the tests unless ``-n`` or ``PYTEST_XDIST_AUTO_NUM_WORKERS`` says:
    none but this one where few tests are asked for or somebody looks on, else one for each core,
    and one more for slow tests, which wait for other processes."""
    cores = yield
    option = config.option
    is_watched = (
        option.capture == "no"
        or option.trace
        or option.collectonly
        or option.setuponly
        or option.setupshow
    )
    are_few = (
        option.keyword or option.lf or option.stepwise or all(_is_small(arg) for arg in config.args)
    )
    if is_watched or are_few:
        return 0
    are_quick = option.markexpr == "not slow"
    return cores if are_quick or "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else cores + 1


def _is_small(arg: str) -> bool:
    """Whether an argument of the command line is a test or a file, not a folder."""
    path, _, test = arg.partition("::")
    return bool(test) or Path(path).is_file()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Unless ``--dist`` says otherwise keep the tests of a file together, as they share what they
    set up, and let a worker that is done take over what another one has not begun."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Spare a run without slow tests the collection of folders that hold nothing else."""
    return True if config.getoption("markexpr") == "not slow" and collection_path in SLOW else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of slow folders."""
    slow = cache(lambda path: not SLOW.isdisjoint(path.parents))
    for item in items:
        if slow(item.path):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Let the garbage collector leave alone what stays to the end, thousands of tests and
    everything imported, and look at the rest less often: most of what tests leave behind is gone
    without it."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(1_000_000)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--update-golden`` writes the kept answers of ``tests/golden`` anew; ``--deep`` tries
    more."""
    parser.addoption(
        "--deep", action="store_true", help="try many more examples, requests and operations"
    )
    parser.addoption(
        "--update-golden", action="store_true", help="write the answers of tests/golden anew"
    )
