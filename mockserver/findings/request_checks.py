"""Wrong or missing fields of a request, and amounts with more digits after the point than their
currency has: those of binary floats, and sums that were not rounded."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from urllib.parse import unquote_plus

from mockserver.domain.card_search import BREAKS, PARTS, card_stands_in
from mockserver.domain.codes import Code
from mockserver.domain.facts import ALSO_TAKEN, MOVES, Call
from mockserver.domain.masking import is_for_phones, mask_start
from mockserver.domain.money import CURRENCIES, MAX_INTEGER_DIGITS, places
from mockserver.domain.reading import number_of
from mockserver.domain.record import mutable
from mockserver.findings.intents import evidence_of
from mockserver.findings.ledger import Evidence, Ledger

_OWN_NUMBER = re.compile(rb'aymentInformation"\s*:\s*\{[^{}]*?ardNumber"')
_LONG = re.compile(rf"[0-9][0-9{BREAKS}{PARTS}]{{12}}")
_SHORTEST = 13
"""Digits of the shortest run that is looked at: fewer are not a card number."""

_LONG_RUN = b"0" * _SHORTEST
_DIGITS_AS_ZEROS = bytes(
    ord("0") if chr(byte).isdigit() and byte < 128 else ord(" ") for byte in range(256)
)
_PARTING = PARTS.encode() + b"\\"
_ESCAPED_DIGIT_OR_GAP = re.compile(
    rb"(?<!\\[nrtf])(?:\\[nrtf])++(?=[0-9]{1,19}(?![0-9A-Za-z]))"
    rb"|\\u[0-9A-Fa-f]{4}|%(?:25)*+[0-9A-Fa-f]{2}|[\xc2-\xf4][\x80-\xbf]++"
)
"""What parts digits, or is one, and takes more than a byte of a body. A line belongs to no number
before it when it begins with more than digits, as rows do with an id."""

_BACKSLASH, _PERCENT = b"\\%"
_MOST_ESCAPED = 80_000
"""Bytes of a body in which that is looked for: as many as ``_MOST_READ`` characters may take."""

_AROUND_VALUE = PARTS.encode() + b':"'
_UNREAD = frozenset(
    {
        "x-secretkey",
        "x-publickey",
        "authorization",
        "cookie",
        "x-admin-token",
        "host",
        "accept",
        "accept-encoding",
    }
    | {"connection", "content-type", "content-length"}
    | {
        "traceparent",
        "tracestate",
        "baggage",
        "b3",
        "x-b3-traceid",
        "x-b3-spanid",
        "x-b3-parentspanid",
    }
    | {
        "x-datadog-trace-id",
        "x-datadog-parent-id",
        "x-datadog-tags",
        "x-cloud-trace-context",
        "x-amzn-trace-id",
    }
    | {"sentry-trace", "uber-trace-id"}
)
"""Headers that carry keys, that HTTP itself reads, or that tracers add, whose ids may look like
card numbers."""

_MOST_OF_HEADER = 500
_OWN = frozenset({"cardnumber", "card_number"})
_LONGEST_PATH = 60
_LONGEST_TEXT = 1_000_000
_MOST_READ = 10_000
"""Characters of one call that are searched for card numbers field by field."""


@mutable
class RequestChecks:
    """Checks each request of one sandbox's client by itself. Keeps nothing but what it raises."""

    _ledger: Ledger

    def called(self, call: Call) -> None:
        """A call was decided."""
        if call.unknown:
            self._unknown(call, call.unknown)
        if call.undocumented or call.misread:
            self._unusual(call)
        may_be_inexact = call.code is not None or call.op in ALSO_TAKEN
        if may_be_inexact and (where := inexact(call)) is not None:
            self._raise("amount-not-exact", call, f"{where} is not exact")
        if call.is_browser:
            self._raise("secret-key-in-browser", call, "sent by a browser with the secret key")
        if not is_clean(call.text, call.where, call.headers):
            for place in _places(call):
                self._raise(
                    "card-number-outside-its-field", call, f"a card number in {place}", field=place
                )
        charge = call.charge
        if (
            call.op == "charge.create"
            and charge is not None
            and not charge.reference
            and call.code is None
        ):
            # With a public key it is the client script's, which has no reference to give.
            if (
                call.is_repeat
                or call.is_public
                or self._ledger.again("no-reference", call.at, operation=call.op)
            ):
                return
            line = (
                f"charge.create {charge.amount} {charge.currency} {charge.charge_id}: no reference"
            )
            self._ledger.add(
                "no-reference", call.at, (Evidence(line, entry=call.entry),), operation=call.op
            )

    def _unusual(self, call: Call) -> None:
        for name, words in call.undocumented.items():
            self._raise("undocumented-form", call, f"{name}: {words}", field=name)
        for name, words in call.misread.items():
            self._raise("query-not-as-written", call, f"{name}: {words}", field=name)

    def _unknown(self, call: Call, hints: Mapping[str, str]) -> None:
        for name, hint in hints.items():
            self._raise(
                "unknown-field",
                call,
                f"unknown field {name}" + (f", {hint}" if hint else ""),
                field=name,
            )

    def lost(self, entry: int, at: int, what: str, nearest: str | None) -> None:
        """A call named a path or verb that does not exist."""
        line = f"{what}: no such operation" + (f", nearest {nearest}" if nearest else "")
        self._ledger.add("no-such-operation", at, (Evidence(line, entry=entry),), request=what)

    def _raise(self, finding: str, call: Call, said: str, **about: str) -> None:
        self._ledger.add(finding, call.at, (evidence_of(call, said),), operation=call.op, **about)


def is_clean(text: bytes, where: str, headers: Mapping[str, str]) -> bool:
    """Whether so many digits stand nowhere but in the field of the card number."""
    if text and not _is_clean_body(text[:_LONGEST_TEXT]):
        return False
    if not _UNREAD.issuperset(headers):
        for name, value in headers.items():
            if (
                len(value) >= _SHORTEST
                and name not in _UNREAD
                and not _is_clean_header(value[:_MOST_OF_HEADER])
            ):
                return False
    return len(where) < _SHORTEST or _is_clean_place(where[:_MOST_READ])


def _is_clean_body(text: bytes) -> bool:
    if _BACKSLASH in text or _PERCENT in text or not text.isascii():
        text = _ESCAPED_DIGIT_OR_GAP.sub(b"0", text[:_MOST_ESCAPED]) + text[_MOST_ESCAPED:]
    runs = text.translate(_DIGITS_AS_ZEROS, _PARTING).count(_LONG_RUN)
    if runs == 1 and (own := _OWN_NUMBER.search(text)) is not None:
        # The one run must begin the value of the card number.
        number = text[own.end() : own.end() + 30]
        return number.translate(_DIGITS_AS_ZEROS, _AROUND_VALUE).startswith(_LONG_RUN)
    return not runs


@lru_cache(maxsize=4_096)
def _is_clean_header(value: str) -> bool:
    return not card_stands_in(value)


def _is_clean_place(where: str) -> bool:
    if "%" in where or "+" in where:
        where = unquote_plus(where)
    is_plain = where.isascii() and "%" not in where and not _LONG.search(where)
    return is_plain or not card_stands_in(where)


def _places(call: Call) -> Iterator[str]:
    left = _MOST_READ
    for path, text in _texts(call.request, ""):
        if card_stands_in(text[:left], for_phones=is_for_phones(path)):
            yield mask_start(path, _LONGEST_PATH)
        left -= len(text)
        if left <= 0:
            break
    if not _is_clean_place(call.where[:_MOST_READ]):
        yield "path or query"
    for name, text in call.headers.items():
        if name not in _UNREAD and not _is_clean_header(text[:_MOST_OF_HEADER]):
            yield f"header {mask_start(name, _LONGEST_PATH)}"


def _texts(value: object, path: str) -> Iterator[tuple[str, str]]:
    match value:
        case Mapping():
            for name, item in value.items():
                place = f"{path}.{name}" if path else str(name)
                yield place, str(name)
                if str(name).lower() not in _OWN or path.endswith("metadata"):
                    yield from _texts(item, place)
        case list():
            for item in value:
                yield from _texts(item, path)
        case str() | int() | Decimal():
            yield path, str(value)
        case _:
            pass


_FIELDS: Mapping[str, tuple[str, ...]] = {
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

_BATCH = "batch.create"
_LONGEST_BATCH = 1_000_000
_ROW = re.compile(
    r'(?:\A|[\r\n])[^,\r\n]*,[ \t"]*-?(?P<amount>[0-9]{1,99}\.[0-9]{1,99})[ \t"]*,[ '
    r'\t"]*(?P<currency>[A-Za-z]{0,3})'
)
_FINEST = max(currency.digits for currency in CURRENCIES.values())


def inexact(call: Call) -> str | None:
    """Where a call has an amount that is not exact, in words; None when it has none."""
    return _row_of(call) if call.op == _BATCH else next(_found(call), None)


def _found(call: Call) -> Iterator[str]:
    for place in _FIELDS.get(call.op, ()):
        *outer, name = place.split(".")
        holders: list[object] = [call.request]
        for step in outer:
            inner = [holder.get(step) for holder in holders if isinstance(holder, Mapping)]
            holders = [
                one for held in inner for one in (held if isinstance(held, list) else [held])
            ]
        for holder in holders:
            if isinstance(holder, Mapping) and _is_inexact(
                holder.get(name), _currency(holder, call), call.code
            ):
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
    # The service knew the currency where it refused the amount, which is then too long or not
    # exact.
    is_refused = code == Code.INVALID_AMOUNT and number.adjusted() < MAX_INTEGER_DIGITS
    return places(number) > (0 if is_refused else _FINEST)


def _row_of(call: Call) -> str | None:
    text = call.request.get("batch")
    if not isinstance(text, str):
        return None
    for row in _ROW.finditer(text, 0, _LONGEST_BATCH):
        if _is_inexact(row["amount"], row["currency"] or call.currency, None):
            return f"the amount of line {text.count(chr(10), 0, row.start('amount')) + 1}"
    return None
