"""What comes after the command: time passes, the shop's nightly job runs, and the shop's books are read.

Source: docs/explore.md, When the command has ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from mockserver.books.comparison import COMPARED
from mockserver.books.invariants import Invariant
from mockserver.books.shop_rows import LONGEST, BadRow, checked_rows
from mockserver.domain.clock import Micros, duration_text
from mockserver.domain.masking import mask_printed
from mockserver.domain.record import record
from mockserver.explore.command import Ended
from mockserver.explore.run_money import RunMoney, key_of
from mockserver.remote import ControlRefused, RemoteSandbox

UNDER_WAY = "5s"
"""How long rows of running batches and webhooks under way may take to finish."""

_ANSWER_SECONDS = 5.0
_LOOK_AGAIN = 0.05
_RUNNING = ("RECEIVED", "CREATED", "IN_PROGRESS")
_LONGEST_WORDS = 400

Run = Callable[[Sequence[str], Path], Ended]
"""Runs another command of the shop as the command itself was run; its output goes to a file."""


class ShopFailed(Exception):
    """A command of the shop failed, or its books cannot be read: the text says how."""


@record
class Aftermath:
    """What follows each run: ``books`` is the command, or the address (``books_url``), that gives the shop's books,
    ``states`` what the shop's own states mean; ``settle`` how far time moves, ``reconcile`` the shop's nightly job."""

    books: Sequence[str] = ()
    books_url: str | None = None
    states: Mapping[str, str] | None = None
    settle: Micros | None = None
    reconcile: Sequence[str] = ()
    invariants: Sequence[Invariant] = ()

    @property
    def has_books(self) -> bool:
        """Whether the shop's books are read."""
        return bool(self.books) or self.books_url is not None

    @property
    def changes(self) -> bool:
        """Whether anything happens after the command that may put its books right."""
        return self.settle is not None or bool(self.reconcile)


NOTHING_MORE = Aftermath()
"""The command is all there is."""


@record
class RunEnd:
    """What came of it. ``differed`` are the differences of the books when the command ended, ``rows`` the shop's rows
    at the end; ``failed`` says why they could not be read; ``broken`` which invariants do not hold."""

    money: RunMoney
    books: Mapping[str, Any]
    findings: Sequence[Mapping[str, Any]]
    differed: Sequence[Mapping[str, Any]] = ()
    rows: Sequence[Mapping[str, Any]] = ()
    failed: str = ""
    broken: Sequence[str] = ()

    @property
    def differing(self) -> list[Mapping[str, Any]]:
        """The differences of the books at the end."""
        return [row for row in self.findings if row["finding"] in COMPARED]


def follow(
    sandbox: RemoteSandbox, asked: Aftermath, run: Run, files: Path, ignored: Collection[tuple[str, str]]
) -> RunEnd:
    """Everything between the end of the command and the verdict. What the shop's other commands print goes to files
    whose names begin with that of ``files``; ``ignored`` are orders of its books that no run ever asks for."""
    settle_down(sandbox)
    failed = ""
    rows: Sequence[Any] = ()
    differed: Sequence[Any] = ()
    try:
        if asked.has_books and asked.changes:
            differed = _compared(sandbox, asked, _rows(asked, run, files), ignored)
        if asked.settle is not None:
            sandbox.clock.advance(duration_text(asked.settle))
            settle_down(sandbox)
        if asked.reconcile:
            _printed(run, asked.reconcile, "--reconcile", Path(f"{files}.reconcile"))
            settle_down(sandbox)
    except ShopFailed as problem:
        failed = str(problem)
    books = sandbox.money()
    findings = sandbox.findings(finish=True)
    if asked.has_books and not failed:
        try:
            rows = _rows(asked, run, files)
            compared = _compared(sandbox, asked, rows, ignored, is_settled=asked.settle is not None)
            findings = [row for row in findings if row["finding"] not in COMPARED] + list(compared)
        except ShopFailed as problem:
            failed = str(problem)
    money = RunMoney.of(books)
    broken = [
        words for one in asked.invariants if (words := one.broken([order.money for order in money.orders])) is not None
    ]
    return RunEnd(money, books, findings, differed=differed, rows=rows, failed=failed, broken=broken)


def settle_down(sandbox: RemoteSandbox) -> None:
    """Wait until the answers on their way, the batches that run and the webhooks that are being sent have ended, five
    seconds at most."""
    end = time.monotonic() + _ANSWER_SECONDS
    while time.monotonic() < end and sandbox.call("GET", "/__admin/books", params={"limit": 1})["under_way"]:
        Event().wait(_LOOK_AGAIN)
    has_batches = sandbox.call("GET", "/__admin/objects", params={"kind": "batch", "limit": 1})["objects"]
    for state in _RUNNING if has_batches else ():
        for batch in sandbox.call("GET", "/__admin/objects", params={"kind": "batch", "q": f"state:{state}"})[
            "objects"
        ]:
            ended = {"batch": {"id": batch["id"], "status": {"in": ["SUCCESS", "FAILED"]}}}
            sandbox.call("POST", "/__admin/wait", json={"for": ended, "timeout": UNDER_WAY})
    if sandbox.call("GET", "/__admin/webhooks", params={"state": "sending", "limit": 1})["count"]:
        # Time stands while webhooks are being sent.
        sandbox.call("POST", "/__admin/clock/advance", json={"by": "0s", "timeout": UNDER_WAY})


def _rows(asked: Aftermath, run: Run, files: Path) -> list[Any]:
    raw = (
        _fetched(asked.books_url)
        if asked.books_url is not None
        else _printed(run, asked.books, "--books", Path(f"{files}.books"))
    )
    try:
        return checked_rows(raw, asked.states or {})
    except BadRow as bad:
        raise ShopFailed(f"--books: {bad}") from None


def _fetched(url: str) -> bytes:
    try:
        with urlopen(url, timeout=_ANSWER_SECONDS) as answer:
            raw: bytes = answer.read(LONGEST + 1)
    except (URLError, OSError) as problem:
        raise ShopFailed(f"--books: {url}: {problem}") from None
    return _short_enough(raw)


def _printed(run: Run, argv: Sequence[str], option: str, output: Path) -> bytes:
    """What a command of the shop prints; it must end well."""
    ended = run(argv, output)
    raw, errors = output.read_bytes(), output.with_suffix(".err")
    said = mask_printed((errors.read_bytes() or raw).decode("utf-8", "replace").strip()[-_LONGEST_WORDS:])
    for file in (output, errors):
        file.unlink()
    if ended.exit != 0:
        raise ShopFailed(f"{option}: {ended}" + (f": {said}" if said else ""))
    return _short_enough(raw)


def _short_enough(raw: bytes) -> bytes:
    if len(raw) > LONGEST:
        raise ShopFailed(f"--books: got {len(raw)} bytes, allowed are {LONGEST}")
    return raw


def _compared(
    sandbox: RemoteSandbox,
    asked: Aftermath,
    rows: Sequence[Any],
    ignored: Collection[tuple[str, str]],
    *,
    is_settled: bool = False,
) -> Sequence[Any]:
    judged = [row for row in rows if key_of(row) not in ignored]
    try:
        found: Sequence[Any] = sandbox.compare_books(judged, states=asked.states, settled=is_settled)["findings"]
    except ControlRefused as refused:
        raise ShopFailed(f"--books: {refused}") from None
    return found
