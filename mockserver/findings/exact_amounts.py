"""Amounts that are not exact, in whichever field or row a client sends them.

An amount with more digits after the point than its currency has shows a binary float
(30.299999999999997), or a sum that was not rounded: one of the two sides will round it otherwise.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from mockserver.domain.codes import Code
from mockserver.domain.facts import MOVES, Call
from mockserver.domain.money import CURRENCIES, MAX_INTEGER_DIGITS, places
from mockserver.domain.reading import number_of

_AMOUNT_FIELDS: Mapping[str, tuple[str, ...]] = {
    "charge.create": ("amount", "transfer.amount"),
    **dict.fromkeys(MOVES - {"charge.void"}, ("amount",)),
    "payment_link.create": ("amount",),
    "subscription.create": ("amount", "endAfter.amount"),
    "subscription.update": ("amount", "endAfter.amount"),
    "token.create": ("amount",),
    "transfer.create": ("transfers.amount",),
}
"""Where a client sends amounts. Those of an order's items are prices of one piece, which may be
finer."""

_MOST_OF_BATCH = 1_000_000
"""Characters of a batch that are searched, which may have ten times as many."""

_ROW = re.compile(
    r"(?:\A|[\r\n])[^,\r\n]*,"
    r'[ \t"]*-?(?P<amount>[0-9]{1,99}\.[0-9]{1,99})[ \t"]*,'
    r'[ \t"]*(?P<currency>[A-Za-z]{0,3})'
)
"""A row with a point in its amount: the payment method, the amount, the currency if it has one."""

_FINEST = max(currency.digits for currency in CURRENCIES.values())
"""Digits after the point that an amount has at most, whatever its currency is."""


def inexact(call: Call) -> str | None:
    """Where a call has an amount that is not exact, in words; None when it has none. The first one
    is told: a client that is wrong in one place is wrong by its arithmetic."""
    if call.op == "batch.create":
        return _inexact_row(call)
    return next(_inexact_fields(call), None)


def _inexact_fields(call: Call) -> Iterator[str]:
    """The fields of a call with such amounts, in words."""
    for place in _AMOUNT_FIELDS.get(call.op, ()):
        *outer, name = place.split(".")
        words = place if outer else f"the {name}"
        for holder in _holders(call.request, outer):
            currency = _currency(holder, call)
            if _is_inexact(holder.get(name), currency, call.code):
                yield words


def _holders(value: object, path: Sequence[str]) -> Iterator[Mapping[str, object]]:
    """The objects at the end of a path; each item of a list on the way."""
    if isinstance(value, list):
        for item in value:
            yield from _holders(item, path)
    elif isinstance(value, Mapping):
        if path:
            yield from _holders(value.get(path[0]), path[1:])
        else:
            yield value


def _currency(holder: Mapping[str, object], call: Call) -> str | None:
    """The currency of an amount: the one beside it, that of the whole request, else what the
    service took it for."""
    given = holder.get("currency") or call.request.get("currency")
    # A request that was refused may have anything in its place.
    if isinstance(given, str):
        return given
    return call.currency


def _is_inexact(value: object, currency: str | None, code: int | None) -> bool:
    """Whether an amount has more digits after the point than its currency, or than any where that
    is not known; ``code`` is that of a refusal."""
    number = number_of(value)
    if number is None or not number.is_finite():
        # There is none, or it is refused for not being a number.
        return False
    known = CURRENCIES.get((currency or "").strip().upper())
    if known is not None:
        return places(number) > known.digits
    # Here the currency is not known, but the service knew it where it refused the amount: for being
    # too long before the point, or else for its digits after it.
    is_too_long = number.adjusted() >= MAX_INTEGER_DIGITS
    if code == Code.INVALID_AMOUNT and not is_too_long:
        return places(number) > 0
    return places(number) > _FINEST


def _inexact_row(call: Call) -> str | None:
    """The first row of a batch with such an amount, in words. Rows are searched as text, as a batch
    of 100,000 is read only later, and row by row."""
    text = call.request.get("batch")
    if not isinstance(text, str):
        return None
    for row in _ROW.finditer(text, 0, _MOST_OF_BATCH):
        currency = row["currency"] or call.currency
        if _is_inexact(row["amount"], currency, None):
            line = text.count("\n", 0, row.start("amount")) + 1
            return f"the amount of line {line}"
    return None
