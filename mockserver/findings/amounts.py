"""Amounts with more digits after the point than their currency has: those of binary floats, and sums that nobody
rounded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from mockserver.domain.money import CURRENCIES, MAX_INTEGER_DIGITS, places
from mockserver.domain.reading import number_of
from mockserver.findings.facts import Call

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "charge.create": ("amount", "transfer.amount"),
    "charge.capture": ("amount",),
    "charge.refund": ("amount",),
    "payment_link.create": ("amount",),
    "subscription.create": ("amount", "endAfter.amount"),
    "subscription.update": ("amount", "endAfter.amount"),
    "token.create": ("amount",),
    "transfer.create": ("transfers.amount",),
}
"""Where a client sends amounts. Those of an order's items are prices of one piece, which may be finer."""

ALSO_TAKEN = frozenset({"batch.create", "subscription.create", "subscription.update"})
"""Operations that do not refuse every amount that is not exact."""

_BATCH = "batch.create"
_LONGEST_BATCH = 1_000_000
_ROW = re.compile(
    r'(?:\A|[\r\n])[^,\r\n]*,[ \t"]*-?(?P<amount>[0-9]{1,99}\.[0-9]{1,99})[ \t"]*,[ \t"]*(?P<currency>[A-Za-z]{0,3})'
)
_INVALID_AMOUNT = 2
_FINEST = max(currency.digits for currency in CURRENCIES.values())


def inexact(call: Call) -> str | None:
    """Where a call has an amount that is not exact, in words; None when it has none."""
    if call.code is None and call.op not in ALSO_TAKEN:
        return None
    return _row_of(call) if call.op == _BATCH else next(_found(call), None)


def _found(call: Call) -> Iterator[str]:
    for place in _FIELDS.get(call.op, ()):
        *outer, name = place.split(".")
        holders: list[object] = [call.request]
        for step in outer:
            inner = [holder.get(step) for holder in holders if isinstance(holder, Mapping)]
            holders = [one for held in inner for one in (held if isinstance(held, list) else [held])]
        for holder in holders:
            if isinstance(holder, Mapping) and _is_inexact(holder.get(name), _currency(holder, call), call.code):
                yield place if outer else f"the {name}"


def _currency(holder: Mapping[str, object], call: Call) -> str | None:
    given = holder.get("currency") or call.request.get("currency")
    return given if isinstance(given, str) else call.currency


def _is_inexact(value: object, currency: str | None, code: int | None) -> bool:
    number = number_of(value)
    if number is None or not number.is_finite():
        return False
    known = CURRENCIES.get(currency.strip().upper()) if currency else None
    if known is not None:
        return places(number) > known.digits
    # The service knew the currency where it refused the amount, which is then too long or not exact.
    is_refused = code == _INVALID_AMOUNT and number.adjusted() < MAX_INTEGER_DIGITS
    return places(number) > (0 if is_refused else _FINEST)


def _row_of(call: Call) -> str | None:
    text = call.request.get("batch")
    if not isinstance(text, str):
        return None
    for row in _ROW.finditer(text, 0, _LONGEST_BATCH):
        if _is_row_inexact(row["amount"], row["currency"] or call.currency):
            return f"the amount of line {text.count(chr(10), 0, row.start('amount')) + 1}"
    return None


@lru_cache(maxsize=4_096)
def _is_row_inexact(amount: str, currency: str | None) -> bool:
    """Rows have few amounts that differ."""
    return _is_inexact(amount, currency, None)
