"""What the end of a command tells a person: nothing, as a crash does, words of its own,
or that somebody has to look. Source: docs/explore.md, Verdicts by money, What the command tells.

It decides about orders that were paid and of which the shop's books know nothing. Where a person
was told, that person puts the books right; where nobody was, the customer has paid for nothing.

The exit code alone does not say that. An interpreter ends with 1 for an exception that nobody has
caught, as a careful shop does that has told its desk; what they print differs. So the marks are
looked for that interpreters leave behind, and whatever else was written is taken for words: a shop
whose words are taken for a crash would be blamed, while a crash that is taken for words is still
reported as a doubt.
"""

import re
from collections.abc import Collection, Sequence
from enum import StrEnum
from itertools import dropwhile, pairwise
from pathlib import Path

from mockserver.domain.masking import mask_printed
from mockserver.domain.record import record


class Telling(StrEnum):
    """What a person learns from the end of a command."""

    CONTENT = "all is well, or it has not ended in time"
    CRASHED = "it crashed: nobody was told anything"
    SAID = "it failed with words of its own, which somebody may read"
    TOLD = "its exit code says that a person knows"
    ASSERTED = "a test has failed, which is how a test tells"


@record
class Ending:
    """How a command ended for those who read it: ``words`` are the last line of the exception, or
    of what it said, ``code`` its exit code."""

    telling: Telling = Telling.CONTENT
    words: str = ""
    code: int = 0


TOLD = (3,)
"""Exit codes that mean that a person knows, unless others are given."""

_RUNNERS = frozenset(
    {
        "pytest",
        "py.test",
        "unittest",
        "nose2",
        "tox",
        "nox",
        "jest",
        "vitest",
        "mocha",
        "ava",
        "jasmine",
        "cypress",
        "playwright",
        "phpunit",
        "pest",
        "rspec",
        "bats",
        "ctest",
        "mvn",
        "gradle",
        "gradlew",
    }
)
_WITH_TEST = frozenset(
    {"go", "npm", "pnpm", "yarn", "bun", "deno", "node", "cargo", "dotnet", "make", "mix", "swift"}
)
"""Programs that run tests, and those that do when they are told to: ``go test``."""

_LONGEST = 200

_PHP_CRASH = 255
"""The exit code of PHP after an error that nobody has caught."""

_SHELL_SIGNALS = range(129, 160)
"""Exit codes by which a shell says that a signal has ended its command: 128 and its number."""

_PYTHON = re.compile(r"^\s*Traceback \(most recent call last\):\s*$", re.M)
_NODE = re.compile(r"^Node\.js v\d[^\n]*\s*\Z", re.M)
_OTHERS = (
    # A panic of Go, an exception of Java, of .NET and of PHP: the line itself tells what it was.
    re.compile(r"^panic: .*$", re.M),
    re.compile(r'^Exception in thread ".*$', re.M),
    re.compile(r"^Unhandled exception[.:].*$", re.M),
    re.compile(r"^.*\bUncaught \w.*$", re.M),
)
_GOES_ON = "For more information check"
"""How the second line of the most common exception of a Python client begins."""

_FRAME = re.compile(r"^\s+at ")


def ending_of(
    code: int | None, output: bytes, argv: Sequence[str], told: Collection[int] = TOLD
) -> Ending:
    """What the end of a command tells, by its exit code, negative for a signal and None when it was
    not done in time, and by what it had printed. What is sure comes first: a test runner and a code
    that the user has named say what they mean, whatever was printed."""
    if code is None or code == 0:
        return Ending()
    text = output.decode("utf-8", "replace").rstrip()
    is_test = is_test_runner(argv)
    if code == 1 and is_test:
        return Ending(Telling.ASSERTED, "", code)
    if code in told and not is_test:
        # Runners have codes of their own: 3 of pytest is an error inside it.
        return Ending(Telling.TOLD, _last_line(text), code)
    crash = _crash_in(code, text)
    if crash:
        return Ending(Telling.CRASHED, crash, code)
    return Ending(Telling.SAID, _last_line(text), code)


def _crash_in(code: int, text: str) -> str:
    """What shows that a command has crashed, in words; empty where it has spoken for itself."""
    if code < 0 or code in _SHELL_SIGNALS:
        return f"it was ended by signal {abs(code) % 128}"
    exception = _exception_in(text)
    if exception:
        return exception
    if not text:
        return f"exit code {code}, and not a word"
    if code == _PHP_CRASH:
        return _last_line(text)
    return ""


def is_test_runner(argv: Sequence[str]) -> bool:
    """Whether a command runs tests: what fails there is an assertion, unless it says more."""
    names = [Path(word).name for word in argv]
    if _RUNNERS.intersection(names):
        return True
    # ``go test``, ``npm run test``, ``node --test``: the word is one of the next two.
    can_test = bool(_WITH_TEST.intersection(names[:1]))
    return can_test and not {"test", "--test"}.isdisjoint(names[1:3])


def _exception_in(text: str) -> str:
    """The line of an exception that nobody has caught; empty where there is none."""
    exception = _python_exception_in(text)
    if exception:
        return exception
    if _NODE.search(text):
        return _shown(_thrown_in(text))
    for mark in _OTHERS:
        found = mark.search(text)
        if found is not None:
            return _shown(found[0])
    return ""


def _python_exception_in(text: str) -> str:
    """The same of Python. The last of several traces counts: those before it were caught, or are
    what it comes from."""
    traces = list(_PYTHON.finditer(text))
    if not traces:
        return ""
    lines = text[traces[-1].end() :].splitlines()
    # The first line behind those of the trace tells what was raised.
    told = list(dropwhile(_is_of_trace, lines))
    if not told:
        return ""
    raised, *after = told
    for line in after:
        if line.strip() and not line.startswith(_GOES_ON):
            # Who prints a trace and goes on to say something has caught it.
            return ""
    return _shown(raised)


def _is_of_trace(line: str) -> bool:
    """Whether a line belongs to a trace of Python, which indents its lines."""
    return not line or line[0].isspace()


def _thrown_in(text: str) -> str:
    """What Node says was thrown: the line before the first frame, else the last of all."""
    lines = [line for line in text.splitlines() if line.strip()]
    for before, line in pairwise(lines):
        if _FRAME.match(line) and not _FRAME.match(before):
            return before
    if len(lines) == 1:
        return lines[0]
    # The last line of all is the version of Node.
    return lines[-2]


def _last_line(text: str) -> str:
    """What a command said at last, which is why it ended."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    return _shown(lines[-1])


def _shown(line: str) -> str:
    """A line as a report may hold it: without card numbers and keys."""
    return mask_printed(line.strip())[:_LONGEST]
