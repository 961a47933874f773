"""What comes after the command: time passes, the shop's nightly job runs, and the shop's books are
read.

Source: docs/explore.md, When the command has ended.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from threading import Event
from typing import Any

from mockserver.books.comparison import COMPARED
from mockserver.books.shop_rows import LONGEST, BadRow, checked_rows, compared_of
from mockserver.domain.clock import Micros, duration_text
from mockserver.domain.figures import Figures
from mockserver.domain.invariants import Invariant
from mockserver.domain.masking import mask_printed
from mockserver.domain.record import record
from mockserver.explore.command import Ended
from mockserver.explore.telling import TOLD, Ending, Telling
from mockserver.explore.verdicts import RunEnd, RunMoney, key_of, money_of, unknown_row
from mockserver.remote import ControlRefused, RemoteSandbox
from mockserver.scenario.operations import MONEY

UNDER_WAY = 5.0
"""Seconds that answers, rows of running batches and webhooks under way may take to finish."""

_ANSWER_SECONDS = 30.0
_LOOK_AGAIN = 0.05
_LONGEST_WORDS = 400
_MOST_DUE = 100

SETTLING = frozenset(
    {
        "settlement",
        "return",
        "refund_settlement",
        "refund_return",
        "later",
        "webhook",
        "webhook_held",
        "batch_prepared",
        "batch_started",
        "batch_rows",
    }
)
"""What may come due that a shop waits for: its payment settles, or it is told. What merely expires
settles nothing."""

Run = Callable[..., Ended]
"""Runs another command of the shop as the command itself was run: its ``output`` goes to a file,
its ``errors`` to another (``Commands.done``)."""


class ShopFailed(Exception):
    """A command of the shop failed, or its books cannot be read: the text says how."""


class NoBooks(ShopFailed):
    """The shop's books cannot be had."""


_CLOSED = {
    "version": 1,
    "name": "while-books-are-read",
    "rules": [
        {
            "id": "while-books-are-read",
            "description": "who prints the books takes no money",
            "when": {"op": sorted(MONEY)},
            "then": {"transport": {"at": "receive", "status": 503, "retry_after": 1}},
        }
    ],
}
"""The scenario that refuses calls that move money while the books are read."""


@record
class Aftermath:
    """What follows each run: ``books`` is the command, or the address, that gives the shop's books,
    ``states`` what the shop's own states mean; ``settle`` how far time moves, ``reconcile`` the
    shop's nightly job, ``told`` the exit codes that mean that a person knows."""

    books: Sequence[str] = ()
    states: Mapping[str, str] | None = None
    settle: Micros | None = None
    reconcile: Sequence[str] = ()
    invariants: Sequence[Invariant] = ()
    told: Collection[int] = TOLD

    @property
    def url(self) -> str | None:
        """The address of the books, if they have one."""
        return (
            self.books[0]
            if self.books and self.books[0].lower().startswith(("http://", "https://"))
            else None
        )


def settled_down(sandbox: RemoteSandbox) -> dict[str, Any]:
    """The money, since the last mark when one was set, once the answers on their way, the batches
    that run and the webhooks that are being sent have ended; after five seconds at most."""
    end = time.monotonic() + UNDER_WAY
    while (books := sandbox.money(sandbox.since))["under_way"] and time.monotonic() < end:
        Event().wait(_LOOK_AGAIN)
    return books


@record
class AfterRun:
    """The shop after a run in a sandbox, and all that follows then. What its other commands print
    goes to files of the ``folder``; ``ignored`` are orders of its books that no run ever asks
    for. ``before_reconcile`` is called before the nightly job begins; ``closes``: the sandbox
    refuses to move money while the books are read in the end."""

    sandbox: RemoteSandbox
    asked: Aftermath
    run: Run
    folder: Path
    ignored: Collection[tuple[str, str]] = ()
    before_reconcile: Callable[[], None] = lambda: None
    closes: bool = True

    def end(self, ending: Ending = Ending()) -> RunEnd:  # noqa: B008
        """Everything between the end of the command and the verdict; ``ending`` is what that end
        has told. Where it has told somebody, what was in doubt is looked after."""
        sandbox, asked = self.sandbox, self.asked
        rows = differed = compared = list[Any]()
        failed, unread, untold = "", "", list[str]()
        books = settled_down(sandbox)
        try:
            if asked.books and (asked.settle is not None or asked.reconcile):
                # The nightly job may make books that are not there yet.
                with suppress(NoBooks):
                    differed = self._compared(self._rows_after(ending))
            if asked.settle is not None:
                sandbox.clock.advance(duration_text(asked.settle))
                books = settled_down(sandbox)
            if asked.reconcile:
                self.before_reconcile()
                self._printed("reconcile", asked.reconcile)
                books = settled_down(sandbox)
        except ShopFailed as problem:
            failed = str(problem)
        # What was in doubt is forgotten when the story ends.
        money, findings = RunMoney.of(books), sandbox.findings(finish=True)
        coming = sandbox.call("GET", "/__admin/clock/due", params={"limit": _MOST_DUE})["due"]
        fired = frozenset(rule["id"] for rule in sandbox.rules() if rule["hits"])
        try:
            if asked.books and not failed:
                with self._closed():
                    rows = self._rows_after(ending)
                told, untold = _told(ending, money, rows)
                compared = self._compared([*rows, *told], is_settled=asked.settle is not None)
        except NoBooks as problem:
            unread = str(problem)
        except ShopFailed as problem:
            failed = str(problem)
        judged = [row for row in findings if row["finding"] not in COMPARED]
        sandbox.invariants = [*asked.invariants]
        broken = sandbox.end_of_test(None, rules=False)["rules"]
        return RunEnd(
            money,
            [*judged, *compared],
            differed=differed,
            rows=rows,
            states=asked.states,
            failed=failed,
            unread=unread,
            broken=broken,
            ending=ending,
            untold=untold,
            fired=fired,
            is_due=any(one["what"] in SETTLING for one in coming),
            is_settled=asked.settle is not None,
        )

    def _rows_after(self, ending: Ending) -> list[Any]:
        """The rows of its books after such an end. Books that a crash has kept from being made know
        nothing. Raises ``NoBooks``."""
        try:
            return self._rows()
        except NoBooks:
            if ending.telling is Telling.CRASHED:
                return []
            raise

    def _rows(self) -> list[Any]:
        """The rows of its books. Raises ``NoBooks``."""
        url = self.asked.url
        try:
            raw = self._printed("books", self.asked.books) if url is None else _fetched(url)
            return [row for _, row in checked_rows(raw, self.asked.states)]
        except BadRow as bad:
            raise NoBooks(f"--books: {bad}") from None
        except ShopFailed as problem:
            raise NoBooks(str(problem)) from None

    @contextmanager
    def _closed(self) -> Iterator[None]:
        """While the books are read for the last time the sandbox refuses to move money: a command
        that pays when its books are missing would hide what is wrong. The counters of rules begin
        anew by that, so what has fired is known by then."""
        if not self.closes:
            yield
            return
        self.sandbox.call("POST", "/__admin/scenarios", json=_CLOSED)
        try:
            yield
        finally:
            self.sandbox.call("DELETE", "/__admin/scenarios", params={"name": _CLOSED["name"]})

    def _compared(self, rows: Sequence[Any], *, is_settled: bool = False) -> list[Any]:
        """What the rows and the sandbox say differently. Raises ``ShopFailed``."""
        # Without what is not compared: some of the rows may claim nothing where all together do.
        judged = [compared_of(row) for row in rows if key_of(row) not in self.ignored]
        try:
            found = self.sandbox.compare_books(judged, states=self.asked.states, settled=is_settled)
        except ControlRefused as refused:
            raise ShopFailed(f"--books: {refused}") from None
        return list(found["findings"])

    def _printed(self, option: str, argv: Sequence[str]) -> bytes:
        """What a command of the shop prints. Raises ``ShopFailed`` when it cannot be run or does
        not end well."""
        output, errors = self.folder / option, self.folder / f"{option}.err"
        try:
            ended = self.run(argv, output=output, errors=errors)
        except OSError as problem:
            raise ShopFailed(f"--{option}: cannot run {argv[0]}: {problem.strerror}") from None
        with output.open("rb") as file:
            raw = file.read(LONGEST + 1)
        said = mask_printed(
            (errors.read_bytes() or raw).decode("utf-8", "replace").strip()[-_LONGEST_WORDS:]
        )
        if ended.exit != 0:
            raise ShopFailed(f"--{option}: {ended}" + (f": {said}" if said else ""))
        return raw


def _told(
    ending: Ending, money: RunMoney, rows: Sequence[Any]
) -> tuple[list[Mapping[str, Any]], list[str]]:
    """The rows that stand for what an end has told: that the shop does not know how these orders
    ended; and what is still to be said of them, because it is not sure that anybody was told."""
    unbooked = money.unbooked(rows)
    match ending.telling:
        case Telling.TOLD | Telling.ASSERTED:
            return money.untold(rows), []
        case Telling.SAID:
            words = (
                f'the command said "{ending.words}": if a person reads that, exit 3 or --told '
                f"{ending.code}"
            )
            said = [f"{money_of(order)}, its books do not know; {words}" for order in unbooked]
            return [unknown_row(order) for order in unbooked], said
        case Telling.CRASHED:
            # Money that has come is a difference of the books; a hold runs out by itself.
            open_ = [order for order in unbooked if not Figures.of(order).net]
            return [], [f"{money_of(order)}, its books do not know" for order in open_]
        case _:
            return [], []


def _fetched(url: str) -> bytes:
    """What an address answers. Raises ``ShopFailed`` when it answers anything but 200, or too much,
    or too late."""
    import httpx

    raw, end = b"", time.monotonic() + _ANSWER_SECONDS
    try:
        with httpx.stream("GET", url, timeout=_ANSWER_SECONDS, trust_env=False) as answer:
            if answer.status_code != HTTPStatus.OK:
                raise ShopFailed(f"--books: {url}: answered {answer.status_code}, wanted 200")
            for chunk in answer.iter_bytes():
                raw += chunk
                if time.monotonic() > end:
                    raise ShopFailed(f"--books: {url}: not done in {_ANSWER_SECONDS:.0f} s")
                if len(raw) > LONGEST:
                    break
    except (httpx.HTTPError, httpx.InvalidURL) as problem:
        raise ShopFailed(f"--books: {url}: {problem}") from None
    return raw
