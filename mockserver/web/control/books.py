"""The money of a sandbox by order, and what the shop's books say of it (``/__admin/books``).

An order is the charges of one subscription or with one reference, or a charge without either. It is
stored nowhere, but read off the charges whenever somebody asks. So a page of all orders goes
through the charges from a place on and keeps those with which an order begins;
``next`` is the place where the next page goes on. Only the sums over all orders are kept running
(``mockserver/books/totals.py``).

Everything here may be about 100,000 charges, so others are served between one item and the next
(``for_each``). Source: docs/books.md.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from functools import partial
from itertools import count, islice
from typing import Annotated, NamedTuple

from pydantic import Field

from mockserver.books.book_report import Report
from mockserver.books.compared_books import BookDifference, ComparedBooks
from mockserver.books.comparison import COMPARED
from mockserver.books.orders import charges_of, entries_about, key_of, orders_of, touched
from mockserver.books.shop_rows import KEYS, BadRow, ShopRow, check_claims, mapping_of, read_row
from mockserver.books.totals import totals_of
from mockserver.domain.clock import ClockMode, Micros, iso
from mockserver.domain.errors import MOST_FAULTS, invalid
from mockserver.domain.figures import Figures, OrderKey, OrderMoney, peak
from mockserver.domain.invariants import Invariant
from mockserver.domain.masking import mask_start, mask_text
from mockserver.domain.record import mutable
from mockserver.domain.states import BatchState
from mockserver.engine.journal import JournalEntry
from mockserver.engine.sandbox import Sandbox
from mockserver.findings.ledger import MOST, Evidence
from mockserver.web.control.call import AnyCall, ControlCall, ControlRoute
from mockserver.web.control.findings import finding_reply, watched
from mockserver.web.control.raised import watch_of
from mockserver.web.runner import for_each, in_thread, learn
from mockserver.wire.control_body import ControlBody, read_exactly
from mockserver.wire.field_types import Switch, digits
from mockserver.wire.jsonio import loads
from mockserver.wire.profile import WireProfile, profile_of
from mockserver.wire.replies import reply_of


class BooksQuery(ControlBody):
    """Which orders."""

    since: str | None = Field(
        None,
        description="those whose charges changed after this mark, or after the journal entry of "
        "this number",
    )
    reference: str | None = Field(None, description="the order of this reference")
    after: Annotated[int, digits(0)] | None = Field(
        None, description="the next page: the field next of an earlier answer"
    )
    limit: Annotated[int, digits(1, 1000)] = Field(100, description="at most this many orders")


class ShopBooks(ControlBody):
    """The shop's books."""

    rows: list[object] = Field(
        description='what it believes, such as {"reference": "order-5", "paid": 20, "state": '
        '"paid"}'
    )
    since: object = Field(
        None,
        description="a mark, or the number of a journal entry: only orders whose charges changed "
        "after it",
    )
    states: dict[str, object] | None = Field(
        None,
        description='what states of the shop mean: {"processing": "pending"}',
    )
    settled: Switch = Field(
        False,
        description="whether everything has settled: what the shop calls pending has failed or is "
        "paid",
    )


class _Page(NamedTuple):
    """Some ``orders`` in the order in which they began, where the ``next`` page begins, None after
    the last, and the ``totals`` by currency of all orders that were asked for."""

    orders: list[OrderMoney]
    next: int | None
    totals: Mapping[str, Figures]


async def read(call: ControlCall[ControlBody, BooksQuery]) -> object:
    """The orders with their money, as they began: all, that of a reference, or those touched since
    a mark."""
    return await money_shown(call, call.sandbox(), call.query)


async def money_shown(call: AnyCall, sandbox: Sandbox, query: BooksQuery) -> dict[str, object]:
    """What ``read`` answers, of a query that another call makes. With ``reference`` the order is
    named, so ``since`` selects nothing."""
    after = None
    if query.since is not None and query.reference is None:
        after = _entry_number(call, sandbox, query.since)
    if query.reference is None and after is None:
        page = await _page_of_all(sandbox, query)
    else:
        page = await _page_of_some(sandbox, query, after)
    entries = entries_about(sandbox, page.orders)
    watch = watch_of(sandbox)
    in_doubt: list[tuple[str | None, Evidence]] = []
    if watch is not None:
        in_doubt = watch.doubts.open()
    doubtful = {subject for subject, _ in in_doubt}
    profile = profile_of(sandbox.assumed)
    return {
        "now": iso(sandbox.now),
        "orders": [
            _order_reply(order, entries, doubtful, sandbox.now, profile) for order in page.orders
        ],
        "next": page.next,
        "totals": {
            currency: reply_of("MoneyAnswer", figures) for currency, figures in page.totals.items()
        },
        "in_doubt": [
            {"entry": fact.entry, "line": profile.sentence(fact.line)} for _, fact in in_doubt
        ],
        "under_way": under_way(call, sandbox),
    }


async def _page_of_all(sandbox: Sandbox, query: BooksQuery) -> _Page:
    """A page of all orders, with the running totals of the sandbox. It looks for one order more
    than it shows: that is where the next page begins."""
    limit = query.limit
    begins: list[_Beginning] = []

    def note(beginning: _Beginning | None) -> None:
        if beginning is not None:
            begins.append(beginning)

    await for_each(_beginnings(sandbox, query.after or 0, limit + 1), note)
    orders = await _orders(sandbox, [beginning.key for beginning in begins[:limit]])
    following = None
    if len(begins) > limit:
        following = begins[limit].place
    totals = totals_of(sandbox)
    # To go through the rows that were added since somebody last asked is to count them: nothing is
    # made of them here.
    await for_each(totals.unknown(), bool)
    return _Page(orders, following, totals.at(sandbox.now))


async def _page_of_some(sandbox: Sandbox, query: BooksQuery, after: int | None) -> _Page:
    """A page of the orders of a reference, or of those touched after a journal entry. They are few,
    so all are read for each page, and totals are theirs."""
    await _learn_orders(sandbox)
    keys: list[OrderKey] = []
    if query.reference is not None:
        keys = [OrderKey("reference", query.reference)]
    elif after is not None:
        keys = list(touched(sandbox, after))
    orders = await _orders(sandbox, keys)
    totals: dict[str, Figures] = {}
    for order in orders:
        totals[order.currency] = totals.get(order.currency, Figures()) + order.figures
    begin = query.after or 0
    end = begin + query.limit
    following = None
    if end < len(orders):
        following = end
    return _Page(orders[begin:end], following, totals)


async def compare(call: ControlCall[ShopBooks, ControlBody]) -> object:
    """What the shop's books and the sandbox say differently, as findings; those of an earlier
    comparison are forgotten.

    Raises ``MalformedJson``, ``Invalid`` (90) naming each bad row by its place; then nothing has
    changed.
    """
    sandbox, watch = watched(call)
    document = await in_thread(partial(loads, call.raw, unique=True))
    if not isinstance(document, dict) or not isinstance(document.get("rows"), list):
        raise invalid(
            {
                "Rows": 'wanted a list of rows, such as {"rows": [{"reference": "order-5", '
                '"paid": 20}]}'
            }
        )
    # Rows are read one by one: there may be more of them than fields in any other body.
    options = read_exactly(ShopBooks, {**document, "rows": []})
    after = None
    if options.since is not None:
        after = _entry_number(call, sandbox, str(options.since))
    rows, books = await _read(sandbox, document["rows"], options)
    await _learn_orders(sandbox)
    keys = await _keys_to_compare(sandbox, books, after)

    def differences_of(key: OrderKey) -> list[BookDifference]:
        return list(books.differences(key))

    differences: list[BookDifference] = []
    for differences_of_order in await for_each([*keys, *books.unknown], differences_of):
        differences += differences_of_order
    # The ledger holds no more findings.
    differences = differences[:MOST]
    await for_each(differences, Report(sandbox, watch.ledger, books, differences).add)
    # Where the books are wrong, the shop may have believed a forged webhook about that charge.
    charge_ids = {
        charge.charge_id for difference in differences for charge in difference.order.charges
    }
    watch.webhooks.disproved(charge_ids, sandbox.now)
    profile = profile_of(sandbox.assumed)
    findings = [
        finding_reply(finding, profile) for finding in watch.ledger if finding.kind.name in COMPARED
    ]
    return {
        "rows": len(rows),
        "count": len(findings),
        "findings": findings,
        "warnings": _warnings(rows),
    }


def _warnings(rows: Iterable[ShopRow]) -> list[str]:
    """The first states of the shop that mean nothing here, each once: a row with one passes
    whatever is in the sandbox, and its author should know."""
    unknown_states: dict[str, None] = {}
    for row in rows:
        if row.state and row.claim is None:
            unknown_states[row.state] = None
    return [
        f"state '{mask_start(word, 40)}' is not known and claims nothing"
        for word in islice(unknown_states, 20)
    ]


async def _keys_to_compare(
    sandbox: Sandbox, books: ComparedBooks, after: int | None
) -> list[OrderKey]:
    """The orders in the shop's books that are compared; the books note those that they lack. After
    a journal entry both are of what was touched since: what an earlier test has left is not this
    one's."""
    keys = list(books.rows)
    if after is None:
        await for_each(sandbox.charges, books.note_unknown)
        return keys
    recent = touched(sandbox, after)
    books.recent = recent
    for key in recent:
        for charge in charges_of(sandbox, key):
            books.note_unknown(charge)

    def is_recent(key: OrderKey) -> bool:
        # A row may name an order by the id of a charge that has a reference.
        orders = {key_of(charge) for charge in charges_of(sandbox, key)}
        # One that the sandbox has no charge of is compared too: the shop may have made it up.
        return not orders or not orders.isdisjoint(recent)

    return [key for key in keys if is_recent(key)]


def sentences(sandbox: Sandbox) -> list[Invariant]:
    """What the scenarios in force say of the money, under ``money:``, which must hold at the
    end."""
    wanted: list[Invariant] = []
    for scenario in sandbox.config.scenarios:
        wanted += map(Invariant, scenario.said.money)
    return wanted


async def broken(sandbox: Sandbox, wanted: Sequence[Invariant], after: int = 0) -> list[str]:
    """The sentences about money that do not hold, in words: of all orders, or of those touched
    after a journal entry, with the charges that were made then, if there are any."""
    if not wanted:
        return []
    await _learn_orders(sandbox)
    if after:
        orders = []
        for key, new_charges in touched(sandbox, after).items():
            # An application may give a reference again in each test.
            orders += orders_of(sandbox, key, new_charges or None)
    else:
        orders = await _orders(sandbox, dict.fromkeys(await for_each(sandbox.charges, key_of)))
    faults: list[str] = []
    for invariant in wanted:
        verdicts = await for_each(invariant.judged(orders), str)
        # A sentence has an empty verdict on each order of which it holds.
        faults += [verdict for verdict in verdicts if verdict]
    return faults


class _Numbered(NamedTuple):
    """A row of the shop's books as it came, and its ``place`` among them, from 0."""

    place: int
    members: object


@mutable
class _Reading:
    """The rows of the shop's books as they are read: ``states`` are its words for states,
    ``faults`` has the bad rows by their places, ``names`` the members of the good ones."""

    states: Mapping[str, str]
    faults: dict[str, str] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)

    def row(self, numbered: _Numbered) -> ShopRow | None:
        """What a row says; None for a bad one, which is noted: all bad rows are told at once."""
        try:
            row = read_row(numbered.members, self.states)
        except BadRow as bad:
            self.note(numbered.place, bad)
            return None
        # Anything but an object has been refused.
        if isinstance(numbered.members, Mapping):
            self.names.update(dict.fromkeys(numbered.members))
        return row

    def note(self, place: int, bad: BadRow) -> None:
        """Keep what is wrong with the row at a place, unless enough is wrong already."""
        if len(self.faults) < MOST_FAULTS:
            self.faults[f"Rows[{place}].{bad.field.capitalize()}"] = bad.words


async def _read(
    sandbox: Sandbox, documents: Sequence[object], options: ShopBooks
) -> tuple[list[ShopRow], ComparedBooks]:
    """The rows of a comparison, and the books that they are. Raises ``Invalid`` (90) naming each
    bad one by its place."""
    # In the form in which the command line gives them too.
    meanings = [f"{own}={known}" for own, known in (options.states or {}).items()]
    try:
        reading = _Reading(mapping_of(meanings))
    except ValueError as fault:
        raise invalid({"States": str(fault)}) from None
    numbered_rows = map(_Numbered, count(), documents)
    read_rows = await for_each(numbered_rows, reading.row)
    rows = [row for row in read_rows if row is not None]
    # What a bad row claims is not known, so what all claim together is looked at only without one.
    if not reading.faults:
        try:
            check_claims(reading.names)
        except BadRow as fault:
            reading.faults["Rows"] = fault.words
    books = ComparedBooks(sandbox, rows, is_settled=options.settled)
    if not reading.faults:
        for faults_of_order in await for_each(books.rows, books.faults):
            for place, bad in faults_of_order:
                reading.note(place, bad)
    if reading.faults:
        raise invalid(reading.faults)
    return rows, books


def _entry_number(call: AnyCall, sandbox: Sandbox, since: str) -> int:
    """The journal entry of a mark. Raises ``Invalid`` (90), also where the journal has lost entries
    after it: what they touched is not known."""
    after = call.entry_number(sandbox, since)
    journal = sandbox.journal
    if after < journal.dropped:
        raise invalid({"Since": f"the orders touched since then are not known: {journal.loss()}"})
    return after


class _Beginning(NamedTuple):
    """The order of a ``key`` began with the charge at a ``place`` of their table."""

    place: int
    key: OrderKey


def _beginnings(sandbox: Sandbox, begin: int, most: int) -> Iterator[_Beginning | None]:
    """At most so many orders that began with a charge from a place on. None for each charge that
    began no order: who goes through these may serve others in between."""
    orders = 0
    for place in range(begin, len(sandbox.charges)):
        if orders == most:
            return
        charge = sandbox.charges.rows[place]
        key = key_of(charge)
        oldest_of_order = next(charges_of(sandbox, key))
        if oldest_of_order is charge:
            orders += 1
            yield _Beginning(place, key)
        else:
            yield None


async def _orders(sandbox: Sandbox, keys: Iterable[OrderKey]) -> list[OrderMoney]:
    """The orders of some keys with their money: one for each currency that an order has."""
    orders: list[OrderMoney] = []
    for orders_of_key in await for_each(keys, partial(orders_of, sandbox)):
        orders += orders_of_key
    return orders


def under_way(call: AnyCall, sandbox: Sandbox) -> int:
    """How many calls that move money wait for the end of their answer, how many webhooks are being
    sent, and how many batches run by themselves."""
    watch = watch_of(sandbox)
    going = len(call.world.runner.sending(sandbox))
    if watch is not None:
        going += watch.doubts.under_way
    if sandbox.clock.mode is ClockMode.MANUAL:
        # A batch goes on when its clock is moved, which may be never.
        return going
    running = (BatchState.RECEIVED, BatchState.CREATED, BatchState.IN_PROGRESS)
    return going + sum(sandbox.batches.count("status", state) for state in running)


async def _learn_orders(sandbox: Sandbox) -> None:
    """Build the indexes that say which charges an order has, and which transfers a charge, while
    others are served: the first search would build them in one step."""
    await learn(sandbox.charges, "reference", "subscription")
    await learn(sandbox.transfers, "charge")


def _order_reply(
    order: OrderMoney,
    entries: Mapping[str, Sequence[JournalEntry]],
    doubtful: Set[str | None],
    now: Micros,
    profile: WireProfile,
) -> dict[str, object]:
    """An order with its money and its charges, in the words of a profile. A charge is in doubt when
    the client does not know how a request about it, or its batch or subscription, has ended."""
    charges = []
    for charge, figures in zip(order.charges, order.each, strict=True):
        # A call in doubt is about one of these.
        subjects = {charge.charge_id, charge.batch_id, charge.subscription_id} - {None}
        charges.append(
            reply_of(
                "OrderChargeAnswer",
                charge,
                **reply_of("MoneyAnswer", figures),
                status=profile.word(charge.status),
                journal=[entry.number for entry in entries[charge.charge_id]],
                in_doubt=not doubtful.isdisjoint(subjects),
            )
        )
    key_name, key_value = order.key
    return {
        # The one that names the order has a value, the others are null.
        **dict.fromkeys(KEYS),
        key_name: mask_text(key_value),
        "currency": order.currency,
        **reply_of("MoneyAnswer", order.figures),
        "peak": peak(order.charges, now),
        "charges": charges,
    }


ROUTES = (
    ControlRoute(
        "GET",
        "/__admin/books",
        read,
        query=BooksQuery,
        keyed=True,
        reply="BooksAnswer",
        example={"reference": "order-1"},
        summary="The money of this sandbox, order by order",
    ),
    ControlRoute(
        "POST",
        "/__admin/books/compare",
        compare,
        body=ShopBooks,
        keyed=True,
        reply="ComparedAnswer",
        largest=10_000_000,
        example={"body": {"rows": [{"reference": "order-1", "paid": 30}], "since": "0"}},
        summary="What the shop's books say differently, as findings",
    ),
)
