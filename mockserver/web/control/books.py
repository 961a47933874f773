"""The money of a sandbox by order, and what the shop's books say of it (``/__admin/books``).
Source: docs/books.md."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from itertools import chain
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from mockserver.books.comparison import COMPARED
from mockserver.books.orders import (
    ComparedBooks,
    Report,
    charges_of,
    entries_about,
    key_of,
    orders_of,
    touched,
)
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
from mockserver.findings.ledger import MOST
from mockserver.web.control.call import AnyCall, ControlCall, ControlRoute
from mockserver.web.control.findings import shown, watched
from mockserver.web.control.raised import watch_of
from mockserver.web.runner import for_each, in_thread, learn
from mockserver.wire.control_body import ControlBody, read_exactly
from mockserver.wire.field_types import Switch, digits
from mockserver.wire.jsonio import loads
from mockserver.wire.profile import profile_of
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

    rows: list[Any] = Field(
        description='what it believes, such as {"reference": "order-5", "paid": 20, "state": '
        '"paid"}'
    )
    since: Any = Field(
        None,
        description="a mark, or the number of a journal entry: only orders whose charges changed "
        "after it",
    )
    states: dict[str, Any] | None = Field(
        None,
        description='what states of the shop mean: {"processing": "pending"}',
    )
    settled: Switch = Field(
        False,
        description="whether everything has settled: what the shop calls pending has failed or is "
        "paid",
    )


_Page: TypeAlias = tuple[list[OrderMoney], int | None, Mapping[str, Figures]]
"""Some orders as they began, the place of the next one, and the money of all that were asked for by
currency."""


async def read(call: ControlCall[ControlBody, BooksQuery]) -> object:
    """The orders with their money, as they began: all, that of a reference, or those touched since
    a mark."""
    return await money_shown(call, call.sandbox(), call.query)


async def money_shown(call: AnyCall, sandbox: Sandbox, query: BooksQuery) -> dict[str, object]:
    """The same, of a query that another call makes."""
    since = query.since if query.reference is None else None
    after = None if since is None else _entry(call, sandbox, since)
    if query.reference is None and after is None:
        orders, end, totals = await _of_all(sandbox, query)
    else:
        orders, end, totals = await _of_some(sandbox, query, after)
    about = entries_about(sandbox, orders)
    sentence = profile_of(sandbox.assumed).sentence
    watch = watch_of(sandbox)
    in_doubt = watch.doubts.open() if watch is not None else []
    doubtful = {subject for subject, _ in in_doubt}
    return {
        "now": iso(sandbox.now),
        "orders": [_order(order, about, doubtful, sandbox.now) for order in orders],
        "next": end,
        "totals": {
            currency: reply_of("MoneyAnswer", figures) for currency, figures in totals.items()
        },
        "in_doubt": [{"entry": one.entry, "line": sentence(one.line)} for _, one in in_doubt],
        "under_way": under_way(call, sandbox),
    }


async def _of_all(sandbox: Sandbox, query: BooksQuery) -> _Page:
    """A page of all orders, with the running totals of the sandbox."""
    looked = await for_each(
        _first_charges(sandbox, query.after or 0, query.limit), lambda found: found
    )
    first = [found for found in looked if found is not None]
    page = await _orders(sandbox, [key for _, key in first[: query.limit]])
    totals = totals_of(sandbox)
    await for_each(totals.unknown(), bool)
    return page, first[-1][0] if len(first) > query.limit else None, totals.at(sandbox.now)


async def _of_some(sandbox: Sandbox, query: BooksQuery, after: int | None) -> _Page:
    """A page of the orders of a reference, or of those touched after a journal entry."""
    await _ready(sandbox)
    keys: list[OrderKey] = []
    if query.reference is not None:
        keys = [("reference", query.reference)]
    elif after is not None:
        keys = [*touched(sandbox, after)]
    found, totals = await _orders(sandbox, keys), dict[str, Figures]()
    for order in found:
        totals[order.currency] = totals.get(order.currency, Figures()) + order.figures
    begin, end = query.after or 0, (query.after or 0) + query.limit
    return found[begin:end], end if end < len(found) else None, totals


async def compare(call: ControlCall[ShopBooks, ControlBody]) -> object:
    """What the shop's books and the sandbox say differently, as findings; those of an earlier
    comparison are forgotten.

    Raises ``MalformedJson``, ``Invalid`` (90) naming each bad row by its place; then nothing has
    changed.
    """
    sandbox, watch = watched(call)
    given = await in_thread(lambda: loads(call.raw, unique=True))
    if not isinstance(given, dict) or not isinstance(given.get("rows"), list):
        raise invalid(
            {
                "Rows": 'wanted a list of rows, such as {"rows": [{"reference": "order-5", '
                '"paid": 20}]}'
            }
        )
    # Rows are read one by one: there may be more of them than fields in any other body.
    asked = read_exactly(ShopBooks, {**given, "rows": []})
    after = None if asked.since is None else _entry(call, sandbox, str(asked.since))
    rows, books = await _read(sandbox, given["rows"], asked)
    await _ready(sandbox)
    keys = await _compared(sandbox, books, after)
    found = await for_each([*keys, *books.unknown], lambda key: list(books.differences(key)))
    differences = list(chain.from_iterable(found))[:MOST]
    await for_each(differences, Report(sandbox, watch.ledger, books, differences).add)
    wrong = {charge.charge_id for one in differences for charge in one.order.charges}
    watch.webhooks.disproved(wrong, sandbox.now)
    profile = profile_of(sandbox.assumed)
    findings = [
        shown(finding, profile) for finding in watch.ledger if finding.kind.name in COMPARED
    ]
    words = dict.fromkeys(row.state for row in rows if row.state and row.claim is None)
    warnings = [f"state '{mask_start(word, 40)}' is not known and claims nothing" for word in words]
    return {
        "rows": len(rows),
        "count": len(findings),
        "findings": findings,
        "warnings": warnings[:20],
    }


async def _compared(sandbox: Sandbox, books: ComparedBooks, after: int | None) -> list[OrderKey]:
    """The orders in the shop's books that are compared; the books note those that they lack. After
    a journal entry both are of what was touched since: what an earlier test has left is not this
    one's."""
    keys = list(books.rows)
    if after is None:
        await for_each(sandbox.charges, books.note_unknown)
        return keys
    books.recent = recent = touched(sandbox, after)
    for charge in chain.from_iterable(charges_of(sandbox, key) for key in recent):
        books.note_unknown(charge)
    known = {key: {key_of(charge) for charge in charges_of(sandbox, key)} for key in keys}
    return [key for key in keys if not known[key] or known[key] & recent.keys()]


def sentences(sandbox: Sandbox) -> list[Invariant]:
    """What the scenarios in force say of the money."""
    return [
        Invariant(text) for scenario in sandbox.config.scenarios for text in scenario.said.money
    ]


async def broken(sandbox: Sandbox, wanted: Sequence[Invariant], after: int = 0) -> list[str]:
    """The sentences about money that do not hold, in words: of all orders, or of those touched
    after a journal entry, with the charges that were made then, if there are any."""
    if not wanted:
        return []
    await _ready(sandbox)
    if after:
        # An application may give a reference again in each test.
        recent = touched(sandbox, after).items()
        orders = [order for key, made in recent for order in orders_of(sandbox, key, made or None)]
    else:
        orders = await _orders(sandbox, dict.fromkeys(await for_each(sandbox.charges, key_of)))
    told = [await for_each(one.judged(orders), str) for one in wanted]
    return [words for words in chain.from_iterable(told) if words]


@mutable
class _Reading:
    """The rows of the shop's books as they are read: ``states`` are its words for states,
    ``faults`` has the bad rows by their places, ``names`` the members of the good ones."""

    states: Mapping[str, str]
    faults: dict[str, str] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)

    def row(self, numbered: tuple[int, Any]) -> ShopRow | None:
        """A row by its place; None for a bad one."""
        place, members = numbered
        try:
            made = read_row(members, self.states)
        except BadRow as bad:
            self.note(place, bad)
            return None
        self.names.update(dict.fromkeys(members))
        return made

    def note(self, place: int, bad: BadRow) -> None:
        if len(self.faults) < MOST_FAULTS:
            self.faults[f"Rows[{place}].{bad.field.capitalize()}"] = bad.words


async def _read(
    sandbox: Sandbox, given: Sequence[Any], asked: ShopBooks
) -> tuple[list[ShopRow], ComparedBooks]:
    """The rows of a comparison. Raises ``Invalid`` (90) naming each bad one by its place."""
    try:
        reading = _Reading(
            mapping_of(f"{own}={known}" for own, known in (asked.states or {}).items())
        )
    except ValueError as fault:
        raise invalid({"States": str(fault)}) from None
    rows = [one for one in await for_each(enumerate(given), reading.row) if one is not None]
    try:
        # What a bad row claims is not known.
        check_claims(() if reading.faults else reading.names)
    except BadRow as fault:
        reading.faults["Rows"] = fault.words
    books = ComparedBooks(sandbox, rows, is_settled=asked.settled)
    for place, bad in chain.from_iterable(
        await for_each(() if reading.faults else books.rows, books.faults)
    ):
        reading.note(place, bad)
    if reading.faults:
        raise invalid(reading.faults)
    return rows, books


def _entry(call: AnyCall, sandbox: Sandbox, since: str) -> int:
    """The journal entry of a mark. Raises ``Invalid`` (90), also where the journal has lost entries
    after it: what they touched is not known."""
    after, journal = call.entry_of(sandbox, since), sandbox.journal
    if after < journal.dropped:
        raise invalid({"Since": f"the orders touched since then are not known: {journal.loss()}"})
    return after


def _first_charges(
    sandbox: Sandbox, begin: int, most: int
) -> Iterator[tuple[int, OrderKey] | None]:
    """The orders that began with a charge from a place on, and their places: ``most``, and one
    more."""
    found = 0
    for place in range(begin, len(sandbox.charges)):
        charge = sandbox.charges.rows[place]
        key = key_of(charge)
        is_first = next(charges_of(sandbox, key)) is charge
        yield (place, key) if is_first else None
        found += is_first
        if found > most:
            return


async def _orders(sandbox: Sandbox, keys: Iterable[OrderKey]) -> list[OrderMoney]:
    return list(chain.from_iterable(await for_each(keys, lambda key: orders_of(sandbox, key))))


def under_way(call: AnyCall, sandbox: Sandbox) -> int:
    """How many calls that move money wait for the end of their answer, how many webhooks are being
    sent, and how many batches run by themselves."""
    watch = watch_of(sandbox)
    going = len(call.world.runner.sending(sandbox))
    going += watch.doubts.under_way if watch is not None else 0
    if sandbox.clock.mode is ClockMode.MANUAL:
        return going
    running = (BatchState.RECEIVED, BatchState.CREATED, BatchState.IN_PROGRESS)
    return going + sum(sandbox.batches.count("status", state) for state in running)


async def _ready(sandbox: Sandbox) -> None:
    """Learn which charges an order has, and which transfers a charge."""
    await learn(sandbox.charges, "reference", "subscription")
    await learn(sandbox.transfers, "charge")


def _order(
    order: OrderMoney,
    entries: Mapping[str, Sequence[JournalEntry]],
    doubtful: Set[str | None],
    now: Micros,
) -> dict[str, object]:
    return {
        **dict.fromkeys(KEYS),
        order.key[0]: mask_text(order.key[1]),
        "currency": order.currency,
        **reply_of("MoneyAnswer", order.figures),
        "peak": peak(order.charges, now),
        "charges": [
            reply_of(
                "OrderChargeAnswer",
                charge,
                **reply_of("MoneyAnswer", figures),
                journal=[entry.number for entry in entries[charge.charge_id]],
                in_doubt=not doubtful.isdisjoint(
                    {charge.charge_id, charge.batch_id, charge.subscription_id} - {None}
                ),
            )
            for charge, figures in zip(order.charges, order.each, strict=True)
        ],
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
