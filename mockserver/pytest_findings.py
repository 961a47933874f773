"""Findings in pytest: what the marker of a test asks for; each test is judged when it ends, its
findings fail it or are counted (docs/findings.md).

Option ``--mockserver-findings``, ini setting ``mockserver_findings``, marker argument ``allow``.

Under xdist a test runs in a worker, and the summary is printed by the controller. What goes from
the one to the other are the reports of tests, as attributes of plain values, and ``workeroutput``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

import pytest

from mockserver.domain.record import record

if TYPE_CHECKING:
    from mockserver.remote import JsonObject, RemoteSandbox

LEVELS = ("off", "note", "warning", "error")
"""From which severity on a finding fails its test. ``off`` asks for none at all; with all others
also those below the level are counted in the summary."""

TITLE = "mockserver findings"
ATTRIBUTE = "mockserver_findings"
"""The ini setting, and the attribute of a report that counts the findings of its test and says
which of its scenarios did nothing."""

MARKER = (
    "mockserver(scenario=None, profile=None, clock=None, allow=None, survives=None, books=None)"
)

_PROFILES = ("documented", "sdk")
"""Said here again, as their own module is loaded with the first sandbox only."""


class WorkerNode(Protocol):
    """A worker of pytest-xdist, as its controller knows it: what it was handed (``workerinput``),
    and in ``workeroutput``, once it has ended, what it hands over."""

    config: pytest.Config
    workerinput: dict[str, object]


sandbox_key: pytest.StashKey[RemoteSandbox] = pytest.StashKey()


class _Found(TypedDict):
    """What was found in a test: how many findings of each kind, and what scenarios waited for of
    which no rule had fired."""

    counts: dict[str, int]
    idle: list[str]


_found_key: pytest.StashKey[_Found] = pytest.StashKey()


def level_of(config: pytest.Config) -> str:
    """The least severity that fails a test, or ``off``: what the command line says counts before
    the project's file. Raises ``pytest.UsageError`` for an unknown ini value; pytest itself looks
    at options."""
    level: str | None = config.getoption("--mockserver-findings")
    if level is None:
        level = str(config.getini(ATTRIBUTE))
    if level not in LEVELS:
        raise pytest.UsageError(f"mockserver_findings: {_words_of_unknown(level, LEVELS)}")
    return level


def sandbox_of(item: pytest.Item) -> RemoteSandbox | None:
    """The sandbox of a test, once a fixture has made it."""
    return item.stash.get(sandbox_key, None)


@record
class MarkerArguments:
    """What a test's markers ask for."""

    scenario: str | Path | Mapping[str, object] | None = None
    profile: str | None = None
    clock: str | None = None
    allow: Sequence[str] | None = None
    survives: Sequence[str] | None = None
    books: str | None = None


def marker_of(item: pytest.Item) -> MarkerArguments:
    """What the markers of a test ask for: of its function, class and module the nearest decides
    each argument. Raises ``pytest.UsageError`` for an argument that is not known."""
    chosen: dict[str, Any] = {}
    known = [field.name for field in fields(MarkerArguments)]
    # The nearest comes first.
    for marker in item.iter_markers("mockserver"):
        if marker.args:
            raise pytest.UsageError(
                f"{item.nodeid}: the marker is {MARKER}: give its arguments by name"
            )
        for name, value in marker.kwargs.items():
            _check("argument", name, known, item)
            chosen.setdefault(name, value)
    if chosen.get("profile") is not None:
        _check("profile", chosen["profile"], _PROFILES, item)
    return MarkerArguments(**chosen)


def shop_rows_of(item: pytest.Item) -> list[JsonObject] | None:
    """The shop's books, where the marker names a function that gives them: called when the test has
    ended, so that it sees what the test has written. Raises ``pytest.UsageError`` where there is no
    such function, and whatever the function raises."""
    __tracebackhide__ = True
    named = marker_of(item).books
    if named is None:
        return None
    try:
        books = resolve_name(named)
    except (ImportError, AttributeError, ValueError) as problem:
        raise pytest.UsageError(
            f"{item.nodeid}: marker mockserver: books: {named}: {problem}"
        ) from None
    # What is wrong in the shop's own function its traceback says, and the marker is right.
    return list(books())


def _check(what: str, got: object, allowed: Sequence[str], item: pytest.Item) -> None:
    """Refuse a word that is not allowed: one that is misspelt would have no effect, unseen."""
    if got not in allowed:
        raise pytest.UsageError(
            f"{item.nodeid}: marker mockserver: {what}: {_words_of_unknown(got, allowed)}"
        )


def _words_of_unknown(got: object, allowed: Sequence[str]) -> str:
    """What was got in the place of an allowed word, and the nearest of them."""
    words = f"got {got!r}, allowed: {', '.join(allowed)}"
    near = get_close_matches(str(got), allowed, n=1)
    if near:
        words += f"; nearest: {near[0]}"
    return words


def allowed_by(item: pytest.Item, given: object) -> frozenset[str]:
    """The kinds of findings that a marker allows. Raises ``pytest.UsageError`` for an unknown kind:
    a name that is misspelt would allow nothing, and the test would fail for another reason."""
    __tracebackhide__ = True
    if given is None:
        return frozenset()
    from mockserver.findings.catalogue import kind_of

    return names_in(item, "allow", "findings", given, kind_of)


class HasName(Protocol):
    """A kind of finding, or a fault."""

    @property
    def name(self) -> str: ...


def names_in(
    item: pytest.Item, argument: str, what: str, given: object, named: Callable[[str], HasName]
) -> frozenset[str]:
    """The names in an argument of a marker, each as what is ``named`` so spells it, which raises
    ``ValueError`` where there is none. Raises ``pytest.UsageError``, also for a text, which
    Python would take for a list of letters."""
    __tracebackhide__ = True
    if given is None:
        return frozenset()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise pytest.UsageError(
            f"{item.nodeid}: marker mockserver: {argument}: got {given!r}, wanted a list of {what}"
        )
    try:
        return frozenset(named(str(name)).name for name in given)
    except ValueError as fault:
        raise pytest.UsageError(f"{item.nodeid}: marker mockserver: {argument}: {fault}") from None


def judge(item: pytest.Item, sandbox: RemoteSandbox, allowed: Collection[str]) -> str:
    """End the story of a test: what fails it, in words, expectations of rules, invariants and
    findings at the level."""
    from mockserver.findings.catalogue import lines_of, reaches

    level = level_of(item.config)
    least: str | None = level
    if level == "off":
        least = None
    elif level == "note":
        # The control API says of this level what it allows: no finding at all.
        least = "none"
    ended = sandbox.end_of_test(least, allowed)
    rows = [row for row in ended["findings"] if row["finding"] not in allowed]
    counts = Counter(row["finding"] for row in rows)
    found: _Found = {"counts": dict(counts), "idle": sandbox.idle}
    item.stash[_found_key] = found
    paragraphs: list[str] = []
    if ended["rules"]:
        paragraphs.append("\n".join(ended["rules"]))
    paragraphs += ["\n".join(lines_of(row)) for row in rows if reaches(row, level)]
    return "\n\n".join(paragraphs)


def note(item: pytest.Item, report: pytest.TestReport) -> None:
    """Give a report what was found, so that it reaches the summary from every worker."""
    if report.when == "call" and _found_key in item.stash:
        setattr(report, ATTRIBUTE, item.stash[_found_key])


def summarise(reporter: pytest.TerminalReporter) -> None:
    """One line that counts findings by kind, and one for each test whose scenario did nothing."""
    counts: Counter[str] = Counter()
    idle = []
    for reports in reporter.stats.values():
        for report in reports:
            found: _Found | None = getattr(report, ATTRIBUTE, None)
            if found is not None:
                counts.update(found["counts"])
                idle += [f"{report.nodeid}: {sentence}" for sentence in found["idle"]]
    if counts or idle:
        reporter.section(TITLE, "-")
    for line in idle:
        reporter.line(line)
    if counts:
        from mockserver.findings.catalogue import CATALOGUE

        # In the order of the catalogue, so that the line reads the same in every session.
        in_order = [name for name in CATALOGUE if name in counts]
        reporter.line(", ".join(f"{counts[name]} {name}" for name in in_order))


COVERED = "mockserver_covered"
"""What a worker of xdist hands over: the coverage of its server."""

_covered_key: pytest.StashKey[list[JsonObject]] = pytest.StashKey()


def note_coverage(config: pytest.Config, url: str) -> None:
    """Keep which failures the tests of this process have met, before their server ends, which has
    counted them; a worker of xdist hands it over."""
    from mockserver.remote import RemoteSandbox

    with closing(RemoteSandbox(url, "sk_coverage")) as sandbox:
        found = [sandbox.call("GET", "/__admin/coverage")]
    if hasattr(config, "workeroutput"):
        config.workeroutput[COVERED] = found
    else:
        add_coverage(config, found)


def add_coverage(config: pytest.Config, found: Sequence[JsonObject]) -> None:
    """Keep the coverage of a server for the summary: under xdist each worker had one of its own."""
    config.stash.setdefault(_covered_key, []).extend(found)


def report_coverage(reporter: pytest.TerminalReporter, file: str | None) -> None:
    """One line, and the report where a file is named for it."""
    kept = reporter.config.stash.get(_covered_key, [])
    if not kept:
        return
    # Here alone: every run of any tests comes by.
    from mockserver.explore.failure_coverage import Coverage

    total = Coverage(frozenset(), {})
    # Under xdist each worker had a server of its own.
    for of_server in kept:
        total += Coverage.read(of_server)
    reporter.line(total.words)
    if file is not None:
        report = json.dumps({"coverage": total.shown()}, indent=2)
        Path(file).write_text(report + "\n", "utf-8")
