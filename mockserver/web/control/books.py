"""The money of a sandbox by order, and what the shop's books say of it (``/__admin/books``).

Source: docs/books.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from mockserver.books.comparison import COMPARED
from mockserver.books.figures import NAMES, Figures, figures_of, postings_of
from mockserver.books.invariants import Invariant, OrderMoney
from mockserver.books.shop_rows import KEYS, BadRow, ShopRow, mapping_of, read_row
from mockserver.domain.charge import Charge
from mockserver.domain.clock import Micros
from mockserver.domain.errors import MOST_FAULTS, invalid, nearest
from mockserver.domain.masking import mask_start, mask_text
from mockserver.domain.record import record
from mockserver.engine.orders import (
    OrderCharges,
    OrderKey,
    charges_of,
    entries_about,
    is_first,
    key_of,
    orders_of,
    touched,
)
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.shop_books import Report, ShopBooks
from mockserver.engine.totals import Totals
from mockserver.findings.ledger import MOST
from mockserver.web.control.call import ControlCall
from mockserver.web.control.findings import shown, watched
from mockserver.web.runner import for_each, in_steps
from mockserver.wire.dates import moment
from mockserver.wire.long_json import loads_in_slices
from mockserver.wire.profile import profile_of

_MEMBERS = ("rows", "since", "states", "settled")
_MOST_WARNINGS = 20


async def read(call: ControlCall) -> tuple[int, object]:
    """The orders with their money, as they began: all, that of a reference, or those touched since a mark."""
    sandbox, query = call.sandbox(), call.query
    if query.reference is not None:
        keys: list[OrderKey] = [("reference", query.reference)]
    elif query.since is not None:
        keys = touched(sandbox, _entry(call, sandbox, query.since))
    else:
        page, then = await _page(sandbox, query.after or 0, query.limit)
        if sandbox.totals is None:
            sandbox.totals = Totals(sandbox.charges)
        await for_each(sandbox.totals.unknown(), bool)
        return 200, _answer(sandbox, page, then, sandbox.totals.at(sandbox.now))
    orders = [order for found in await for_each(keys, lambda key: orders_of(sandbox, key)) for order in found]
    totals: dict[str, Figures] = {}
    for order in orders:
        totals[order.currency] = totals.get(order.currency, Figures()) + order.figures(sandbox.now)
    begin = query.after or 0
    end = begin + query.limit
    return 200, _answer(sandbox, orders[begin:end], end if end < len(orders) else None, totals)


async def compare(call: ControlCall) -> tuple[int, object]:
    """What the shop's books and the sandbox say differently, as findings; those of an earlier comparison are forgotten.

    Raises ``MalformedJson``, ``Invalid`` (90) naming each bad row by its place; then nothing has changed.
    """
    sandbox, watch = watched(call)
    given = await in_steps(loads_in_slices(deque([call.raw]), unique=True))
    asked = _Asked.of(given, call, sandbox)
    faults: dict[str, str] = {}
    rows = await for_each(enumerate(asked.rows), lambda row: _row(faults, *row, asked.states))
    books = ShopBooks(sandbox, [row for row in rows if row is not None], is_settled=asked.is_settled)
    if not faults:
        for place, bad in chain.from_iterable(await for_each(books.orders, books.faults)):
            _note(faults, place, bad)
    if faults:
        raise invalid(faults)
    keys = books.orders
    if asked.after is None:
        await for_each(sandbox.charges, books.note_unknown)
    else:
        recent = touched(sandbox, asked.after)
        # What an earlier test has left is not this one's.
        keys = [key for key in keys if _is_recent(charges_of(sandbox, key), recent)]
        for charge in chain.from_iterable(charges_of(sandbox, key) for key in recent):
            books.note_unknown(charge)
    found = await for_each([*keys, *books.unknown], lambda key: list(books.differences(key)))
    differences = list(chain.from_iterable(found))[:MOST]
    report = Report(sandbox, watch.ledger, books, differences)
    await for_each(differences, report.add)
    profile = profile_of(sandbox.assumed)
    findings = [shown(finding, profile) for finding in watch.ledger if finding.kind.name in COMPARED]
    warnings = [f"state '{mask_start(word, 40)}' is not known and claims nothing" for word in _unknown_states(rows)]
    return 200, {"rows": len(rows), "count": len(findings), "findings": findings, "warnings": warnings}


def sentences(sandbox: Sandbox) -> list[Invariant]:
    """What the scenarios in force say of the money."""
    told: list[Any] = [text for one in sandbox.config.scenarios for text in _listed(one.source.get("money"))]
    return list(map(Invariant, told))


def _listed(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


async def broken(sandbox: Sandbox, wanted: Sequence[Invariant], after: int = 0) -> list[str]:
    """The sentences about money that do not hold, in words: of all orders, or of those touched after a journal
    entry."""
    if not wanted:
        return []
    keys = touched(sandbox, after) if after else list(dict.fromkeys(await for_each(sandbox.charges, key_of)))
    orders = chain.from_iterable(await for_each(keys, lambda key: orders_of(sandbox, key)))
    now = sandbox.now
    money = [OrderMoney(one.key[1], one.currency, one.figures(now), len(one.charges)) for one in orders]
    return [words for one in wanted if (words := one.broken(money)) is not None]


@record
class _Asked:
    """A comparison as it was asked for: rows as they came, what the shop's own states mean, the journal entry after
    which the orders of the sandbox count (None: all)."""

    rows: Sequence[Any]
    states: Mapping[str, str]
    after: int | None
    is_settled: bool

    @classmethod
    def of(cls, given: object, call: ControlCall, sandbox: Sandbox) -> _Asked:
        """Raises ``Invalid`` (90) naming every member that is wrong."""
        if not isinstance(given, dict) or not isinstance(given.get("rows"), list):
            raise invalid({"Rows": 'wanted a list of rows, such as {"rows": [{"reference": "order-5", "paid": 20}]}'})
        faults = {
            mask_start(name, 40).capitalize(): f"unknown field{nearest(name, _MEMBERS)}, allowed: {', '.join(_MEMBERS)}"
            for name in given
            if name not in _MEMBERS
        }
        settled, states, since = given.get("settled", False), given.get("states") or {}, given.get("since")
        if not isinstance(settled, bool):
            faults["Settled"] = "wanted true or false"
        try:
            mapping_of(f"{own}={known}" for own, known in dict(states).items())
        except (TypeError, ValueError) as fault:
            faults["States"] = str(fault) if isinstance(states, dict) else 'wanted an object such as {"done": "paid"}'
        if faults:
            raise invalid(faults)
        after = None if since is None else _entry(call, sandbox, str(since))
        return cls(given["rows"], states, after, settled)


def _row(faults: dict[str, str], place: int, row: object, states: Mapping[str, str]) -> ShopRow | None:
    try:
        return read_row(row, states)
    except BadRow as bad:
        _note(faults, place, bad)
        return None


def _note(faults: dict[str, str], place: int, bad: BadRow) -> None:
    if len(faults) < MOST_FAULTS:
        faults[f"Rows[{place}].{bad.field.capitalize()}"] = bad.words


def _is_recent(charges: Sequence[Charge], recent: Collection[OrderKey]) -> bool:
    return not charges or any(key_of(charge) in recent for charge in charges)


def _unknown_states(rows: Iterable[ShopRow | None]) -> list[str]:
    words = dict.fromkeys(row.state for row in rows if row is not None and row.state and row.claim is None)
    return list(words)[:_MOST_WARNINGS]


def _entry(call: ControlCall, sandbox: Sandbox, since: str) -> int:
    """The journal entry of a mark. Raises ``Invalid`` (90), also where the journal has lost entries after it: what
    they touched is not known."""
    after, journal = call.entry_of(sandbox, since), sandbox.journal
    if after < journal.dropped:
        raise invalid({"Since": f"the orders touched since then are not known: {journal.loss()}"})
    return after


async def _page(sandbox: Sandbox, begin: int, limit: int) -> tuple[list[OrderCharges], int | None]:
    """The orders that began with a charge from a place on, and the place at which the next page begins."""
    found: list[OrderKey] = []
    then: int | None = None

    def places() -> Iterator[int]:
        nonlocal then
        for place in range(begin, len(sandbox.charges)):
            charge = sandbox.charges.rows[place]
            if is_first(sandbox, charge):
                if len(found) == limit:
                    then = place
                    return
                found.append(key_of(charge))
            yield place

    await for_each(places(), bool)
    orders = await for_each(found, lambda key: orders_of(sandbox, key))
    return list(chain.from_iterable(orders)), then


def _answer(
    sandbox: Sandbox, orders: Sequence[OrderCharges], then: int | None, totals: Mapping[str, Figures]
) -> dict[str, object]:
    about = entries_about(sandbox, (charge.charge_id for order in orders for charge in order.charges))
    entries = {charge_id: [entry.number for entry in found] for charge_id, found in about.items()}
    profile = profile_of(sandbox.assumed)
    doubts = sandbox.watch.doubts if sandbox.watch is not None else None
    return {
        "now": moment(sandbox.now),
        "orders": [_order(order, sandbox.now, entries) for order in orders],
        "next": then,
        "totals": {currency: _money(figures) for currency, figures in totals.items()},
        "in_doubt": [
            {"entry": one.entry, "line": profile.sentence(one.line)}
            for one in (doubts.evidence() if doubts is not None else ())
        ],
        "under_way": doubts.under_way if doubts is not None else 0,
    }


def _order(order: OrderCharges, now: Micros, entries: Mapping[str, Sequence[int]]) -> dict[str, object]:
    kind, value = order.key
    return {
        **dict.fromkeys(KEYS),
        kind: mask_text(value),
        "currency": order.currency,
        **_money(order.figures(now)),
        "charges": [
            {
                "chargeId": charge.charge_id,
                "status": charge.status.value,
                "providerId": charge.provider.provider_id,
                **_money(figures_of(charge, now)),
                "journal": entries[charge.charge_id],
                "postings": [
                    {
                        "at": moment(posting.at),
                        "what": posting.what,
                        "debit": posting.debit,
                        "credit": posting.credit,
                        "amount": posting.amount,
                    }
                    for posting in postings_of(charge, now, order.transfers_of(charge))
                ],
            }
            for charge in order.charges
        ],
    }


def _money(figures: Figures) -> dict[str, object]:
    return {**{name: getattr(figures, name) for name in NAMES}, "net": figures.net, "exposure": figures.exposure}
