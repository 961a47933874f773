"""What comes after the command: time passes, the shop's nightly job runs, and the shop's books are
read.

The sandbox is looked at once when the command has ended, and once more after each thing that
follows. A look is one control call that answers everything: each further call would cost as much as
a few calls of the shop, hundreds of times in an exploration. It waits until nothing is under way,
as an answer that still moves money, or a webhook that is being sent, would make a verdict a matter
of luck. The last look ends the story, so that findings also report what was left open; only then
are the books read, while the sandbox refuses to move money, and compared with it.

Source: docs/explore.md, When the command has ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple, Protocol

from mockserver.books.comparison import COMPARED
from mockserver.books.shop_rows import BadRow, compared_of
from mockserver.books.shop_text import LONGEST, checked_rows
from mockserver.domain.clock import Micros, duration_text
from mockserver.domain.figures import Figures
from mockserver.domain.invariants import Invariant
from mockserver.domain.masking import mask_printed
from mockserver.domain.record import record
from mockserver.explore.command import Ended
from mockserver.explore.run_answers import BooksRow, CallRow, FindingRow, OrderRow
from mockserver.explore.run_end import RunEnd
from mockserver.explore.run_money import RunMoney, ShopsRow, key_of, money_of, unknown_rows
from mockserver.explore.telling import TOLD, Ending, Telling
from mockserver.remote import ControlRefused, RemoteSandbox
from mockserver.scenario.operations import MONEY

UNDER_WAY = 5.0
"""Seconds that answers, rows of running batches and webhooks under way may take to finish."""

_ANSWER_SECONDS = 30.0
_LONGEST_WORDS = 400
"""Characters of what a command printed, the last ones, that its failure tells."""

_READ = 4 * _LONGEST_WORDS
"""Characters that are read for them."""

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


class RunCommand(Protocol):
    """Runs another command of the shop as the command itself was run: its ``output`` goes to a
    file, its ``errors`` to another (``Commands.done``)."""

    def __call__(self, argv: Sequence[str], *, output: Path, errors: Path) -> Ended: ...


class ShopFailed(Exception):
    """A command of the shop failed, or its books cannot be read: the text says how."""


class NoBooks(ShopFailed):
    """The shop's books cannot be had. Apart from other failures, since a crash may have kept them
    from being made: then the shop knows nothing, and that is judged."""


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
    def follows(self) -> bool:
        """Whether time passes, or a job runs, before the end is judged."""
        return self.settle is not None or bool(self.reconcile)

    @property
    def url(self) -> str | None:
        """The address of the books, if they have one."""
        if self.books and self.books[0].lower().startswith(("http://", "https://")):
            return self.books[0]
        return None


@record
class Look:
    """What a look at a sandbox has shown: its ``calls`` in short, the ``money`` as ``GET
    /__admin/books`` shows it, findings, the rules that have ``fired``, the names of what is still
    ``due``, and the timeline. ``is_manual``: its clock was set by hand."""

    calls: Sequence[CallRow]
    money: BooksRow
    findings: Sequence[FindingRow]
    fired: frozenset[str]
    due: Sequence[str]
    timeline: str
    is_manual: bool


def look_at(sandbox: RemoteSandbox, *, finish: bool = False) -> Look:
    """Look at a sandbox, since the last mark when one was set, once the answers on their way, the
    batches that run and the webhooks that are being sent have ended; after five seconds at most.
    With ``finish`` the story ends."""
    seen = sandbox.run(timeout=UNDER_WAY, finish=finish)
    return Look(
        calls=seen["calls"],
        money=seen["money"],
        findings=seen["findings"],
        fired=frozenset(seen["fired"]),
        due=seen["due"],
        timeline=seen["timeline"],
        is_manual=seen["clock"] == "manual",
    )


class Followed(NamedTuple):
    """What came of the time and the job that follow a command: what the books and the sandbox said
    differently before, and what of the shop has failed."""

    differed: Sequence[FindingRow] = ()
    failed: str = ""


class Judgeable(NamedTuple):
    """The end of a run, and all looks at its sandbox: the first when the command had ended, the
    last when all had."""

    end: RunEnd
    looks: Sequence[Look]


def _do_nothing() -> None:
    """What is done before a nightly job where nothing has to be."""


@record
class _BooksRead:
    """The shop's books at the end: their rows, what they and the sandbox say differently
    (``compared``), what is still to be said of orders that they lack (``untold``). ``unread`` says
    why they could not be had, ``failed`` why they could not be compared."""

    rows: Sequence[ShopsRow] = ()
    compared: Sequence[FindingRow] = ()
    untold: Sequence[str] = ()
    unread: str = ""
    failed: str = ""


@record
class AfterRun:
    """The shop after a run in a sandbox, and all that follows then. What its other commands print
    goes to files of the ``folder``; ``ignored`` are orders of its books that no run ever asks
    for. ``before_reconcile`` is called before the nightly job begins; ``closes``: from when the
    books are read in the end the sandbox refuses to move money."""

    sandbox: RemoteSandbox
    aftermath: Aftermath
    run: RunCommand
    folder: Path
    ignored: Collection[tuple[str, str]] = ()
    before_reconcile: Callable[[], None] = _do_nothing
    closes: bool = True

    def end(self, ending: Ending) -> Judgeable:
        """Everything between the end of the command and the verdict. ``ending`` is what the end of
        the command has told: what it has told somebody the books need not say."""
        aftermath = self.aftermath
        looks = [look_at(self.sandbox, finish=not aftermath.follows)]
        followed = Followed()
        if aftermath.follows:
            followed = self._follow(ending, looks)
            looks.append(look_at(self.sandbox, finish=True))
        last = looks[-1]
        money = RunMoney.of(last.money)
        read = _BooksRead()
        # Books after a nightly job that has failed would be judged as those of a shop that ran it.
        if aftermath.books and not followed.failed:
            read = self._read_books(ending, money)
        # The comparison above counts, not one that the shop's tests have made earlier.
        judged = [row for row in last.findings if row["finding"] not in COMPARED]
        self.sandbox.invariants = [*aftermath.invariants]
        broken = self.sandbox.end_of_test(None, rules=False)["rules"]
        end = RunEnd(
            money,
            [*judged, *read.compared],
            differed=followed.differed,
            rows=read.rows,
            states=aftermath.states,
            failed=followed.failed or read.failed,
            unread=read.unread,
            broken=broken,
            ending=ending,
            untold=read.untold,
            fired=frozenset[str]().union(*(look.fired for look in looks)),
            is_due=not SETTLING.isdisjoint(last.due),
            is_settled=aftermath.settle is not None,
        )
        return Judgeable(end, looks)

    def _follow(self, ending: Ending, looks: list[Look]) -> Followed:
        """Let time pass and the nightly job run, with a look between them. By what the books and
        the sandbox said differently before, a shop that heals is told from one that was right all
        along."""
        aftermath = self.aftermath
        differed: Sequence[FindingRow] = ()
        try:
            if aftermath.books:
                # The nightly job may make books that are not there yet.
                with suppress(NoBooks):
                    differed = self._compared(self._rows_after(ending))
            if aftermath.settle is not None:
                self.sandbox.clock.advance(duration_text(aftermath.settle))
            if aftermath.reconcile:
                if aftermath.settle is not None:
                    # The job begins under a scenario of its own, and counters begin anew by that:
                    # what has fired while time passed is known only now.
                    looks.append(look_at(self.sandbox))
                self.before_reconcile()
                self._printed("reconcile", aftermath.reconcile)
        except ShopFailed as problem:
            return Followed(differed, str(problem))
        return Followed(differed)

    def _read_books(self, ending: Ending, money: RunMoney) -> _BooksRead:
        """Read the books for the last time, and compare them."""
        if self.closes:
            self._refuse_money()
        try:
            rows = self._rows_after(ending)
        except NoBooks as problem:
            return _BooksRead(unread=str(problem))
        told = _told(ending, money, rows)
        is_settled = self.aftermath.settle is not None
        try:
            compared = self._compared([*rows, *told.rows], is_settled=is_settled)
        except ShopFailed as problem:
            return _BooksRead(rows, untold=told.doubts, failed=str(problem))
        return _BooksRead(rows, compared, told.doubts)

    def _refuse_money(self) -> None:
        """From now on the sandbox refuses to move money: a command that pays when its books are
        missing would hide what is wrong. The counters of rules begin anew by that, so what has
        fired is known by then; and nothing follows for which the sandbox must be opened again."""
        self.sandbox.call("POST", "/__admin/scenarios", json=_CLOSED)

    def _rows_after(self, ending: Ending) -> list[ShopsRow]:
        """The rows of its books after such an end. Books that a crash has kept from being made know
        nothing. Raises ``NoBooks``."""
        try:
            return self._rows()
        except NoBooks:
            if ending.telling is Telling.CRASHED:
                return []
            raise

    def _rows(self) -> list[ShopsRow]:
        """The rows of its books. Raises ``NoBooks``."""
        try:
            checked = checked_rows(self._raw_books(), self.aftermath.states)
            return [row for _, row in checked]
        except BadRow as bad:
            raise NoBooks(f"--books: {bad}") from None
        except ShopFailed as problem:
            raise NoBooks(str(problem)) from None

    def _raw_books(self) -> bytes:
        """The books as the shop gives them, by its command or at their address. Raises
        ``ShopFailed``."""
        if self.aftermath.url is not None:
            return _fetched(self.aftermath.url)
        return self._printed("books", self.aftermath.books)

    def _compared(
        self, rows: Sequence[ShopsRow], *, is_settled: bool = False
    ) -> Sequence[FindingRow]:
        """What the rows and the sandbox say differently. Raises ``ShopFailed``."""
        # Without what is not compared: some of the rows may claim nothing where all together do.
        judged = [compared_of(row) for row in rows if key_of(row) not in self.ignored]
        try:
            found = self.sandbox.compare_books(
                judged, states=self.aftermath.states, settled=is_settled
            )
        except ControlRefused as refused:
            raise ShopFailed(f"--books: {refused}") from None
        differences: Sequence[FindingRow] = found["findings"]
        return differences

    def _printed(self, option: str, argv: Sequence[str]) -> bytes:
        """What a command of the shop prints. Raises ``ShopFailed`` when it cannot be run or does
        not end well."""
        output, errors = self.folder / option, self.folder / f"{option}.err"
        try:
            ended = self.run(argv, output=output, errors=errors)
        except OSError as problem:
            raise ShopFailed(f"--{option}: cannot run {argv[0]}: {problem.strerror}") from None
        with output.open("rb") as file:
            # A byte more than books may have shows that they are too long.
            raw = file.read(LONGEST + 1)
        if ended.exit == 0:
            return raw
        printed = errors.read_bytes() or raw
        words = printed.decode("utf-8", "replace").strip()
        how = f"--{option}: {ended}"
        if words:
            # What is cut in two is masked no more, so the cut comes long before.
            how += f": {mask_printed(words[-_READ:])[-_LONGEST_WORDS:]}"
        raise ShopFailed(how)


class _Told(NamedTuple):
    """What an end has told: ``rows`` say for the shop that it does not know how these orders ended;
    ``doubts`` is what is still to be said of orders that the books lack, because it is not sure
    that anybody was told."""

    rows: Sequence[ShopsRow] = ()
    doubts: Sequence[str] = ()


def _told(ending: Ending, money: RunMoney, rows: Sequence[ShopsRow]) -> _Told:
    """What an end has told of the orders that the shop's rows do not have."""
    unbooked = money.unbooked(rows)
    match ending.telling:
        case Telling.TOLD | Telling.ASSERTED:
            # A person knows of what the client could not know. What it could have known and did not
            # book is a difference all the same.
            return _Told(money.untold(rows))
        case Telling.SAID:
            # Its words may name any of these orders: they are blamed for nothing, and doubted.
            unknown = [row for order in unbooked for row in unknown_rows(order)]
            return _Told(unknown, _unread_words(ending, unbooked))
        case Telling.CRASHED:
            # Nobody was told. Money that has come is a difference of the books; a hold runs out by
            # itself, and pending money may fail, so they are doubts.
            not_come = [order for order in unbooked if not Figures.of(order).net]
            return _Told((), [f"{money_of(order)}, its books do not know" for order in not_come])
        case Telling.CONTENT:
            return _Told()


def _unread_words(ending: Ending, unbooked: Sequence[OrderRow]) -> list[str]:
    """What a command said that failed, beside each order that its books lack."""
    words = (
        f'the command said "{ending.words}": if a person reads that, exit 3 or --told {ending.code}'
    )
    return [f"{money_of(order)}, its books do not know; {words}" for order in unbooked]


def _fetched(url: str) -> bytes:
    """What an address answers, so much of it at most that it shows to be too long for books. Raises
    ``ShopFailed`` when it answers anything but 200, or too late."""
    import httpx

    raw = b""
    # The timeout of httpx is that of each part: one that comes byte by byte would never pass it.
    end = time.monotonic() + _ANSWER_SECONDS
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
