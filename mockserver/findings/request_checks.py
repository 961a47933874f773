"""Requests that are wrong by themselves: unknown fields, amounts that are not exact, card numbers
where they do not belong, a secret key in a browser.

A card number outside its field ends in logs and databases that nobody protects, which the rules of
card schemes forbid. So every text of every request is searched for one. To parse and search each
request field by field would cost more than all else that is judged of it, and nearly none has one.
So there are two searches. The first looks at the bytes as they came and asks only whether there is
a run of so many digits anywhere, but for the one that begins the value of ``cardNumber``
(``is_clean``). It may take an order number for a card number, but never a card number for nothing.
Only a request that it does not let pass is searched field by field (``_places``), by the checksum
of card numbers.

An amount with more digits after the point than its currency has shows a binary float
(30.299999999999997), or a sum that was not rounded: one of the two sides will round it otherwise.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from urllib.parse import unquote_plus

from mockserver.domain.card_search import BREAKS, PARTS, card_stands_in
from mockserver.domain.charge import Charge
from mockserver.domain.codes import Code
from mockserver.domain.facts import ALSO_TAKEN, MOVES, Call
from mockserver.domain.masking import is_for_phones, mask_start
from mockserver.domain.money import CURRENCIES, MAX_INTEGER_DIGITS, places
from mockserver.domain.reading import number_of
from mockserver.domain.record import mutable
from mockserver.findings.intents import evidence_of
from mockserver.findings.ledger import Evidence, Ledger

_OWN_NUMBER = re.compile(rb'aymentInformation"\s*:\s*\{[^{}]*?ardNumber"')
"""What stands before the one card number that a request may have. Both names may begin with a
capital."""

_LONG = re.compile(rf"[0-9][0-9{BREAKS}{PARTS}]{{12}}")
_SHORTEST = 13
"""Digits of the shortest run that is looked at: fewer are not a card number."""

_LONG_RUN = b"0" * _SHORTEST
_DIGITS_AS_ZEROS = bytes(
    ord("0") if chr(byte).isdigit() and byte < 128 else ord(" ") for byte in range(256)
)
"""Translates every digit to ``0`` and all else to a blank: then a run of digits, whichever they
are, is found by a search for ``0000000000000``, in a fraction of the time of an expression."""

_PARTING = PARTS.encode() + b"\\"
"""Left out by that: what people write between the digits of a card number, and the backslash of an
escape between them."""

_ESCAPED_DIGIT_OR_GAP = re.compile(
    rb"(?<!\\[nrtf])(?:\\[nrtf])++(?=[0-9]{1,19}(?![0-9A-Za-z]))"
    rb"|\\u[0-9A-Fa-f]{4}|%(?:25)*+[0-9A-Fa-f]{2}|[\xc2-\xf4][\x80-\xbf]++"
)
"""What parts digits, or is one, and takes more than a byte of a body. A line belongs to no number
before it when it begins with more than digits, as rows do with an id."""

_BACKSLASH, _PERCENT = b"\\%"
_MOST_ESCAPED = 80_000
"""Bytes of a body in which that is looked for: as many as ``_MOST_READ`` characters may take."""

_LONGEST_VALUE = 30
"""Characters in which a card number has begun: blanks, a colon and a quote before its digits."""

_AROUND_VALUE = PARTS.encode() + b':"'
_KEYS = {"x-secretkey", "x-publickey", "authorization", "cookie", "x-admin-token"}
_READ_BY_HTTP = {
    "host",
    "accept",
    "accept-encoding",
    "connection",
    "content-type",
    "content-length",
}
_OF_TRACERS = {
    "traceparent",
    "tracestate",
    "baggage",
    "b3",
    "x-b3-traceid",
    "x-b3-spanid",
    "x-b3-parentspanid",
    "x-datadog-trace-id",
    "x-datadog-parent-id",
    "x-datadog-tags",
    "x-cloud-trace-context",
    "x-amzn-trace-id",
    "sentry-trace",
    "uber-trace-id",
}
"""Headers that tracers add, whose ids may look like card numbers."""

_UNREAD = frozenset(_KEYS | _READ_BY_HTTP | _OF_TRACERS)
"""Headers that are not searched. Most requests have no others, which one comparison shows."""

_MOST_OF_HEADER = 500
_OWN = frozenset({"cardnumber", "card_number"})
_LONGEST_PATH = 60
_MOST_OF_BODY = 1_000_000
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
        # Where the service refuses every amount that is not exact, one that it took is exact.
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
        if charge is not None and not charge.reference and call.op == "charge.create":
            self._judge_no_reference(call, charge)

    def _judge_no_reference(self, call: Call, charge: Charge) -> None:
        """Judge a charge without a reference: after a lost answer nobody could find it."""
        # With a public key it is the client script's, which has no reference to give.
        if call.code is not None or call.is_repeat or call.is_public:
            return
        # Load tests make a million of these: a line for each would cost more than it says.
        if self._ledger.again("no-reference", call.at, operation=call.op):
            return
        line = f"charge.create {charge.amount} {charge.currency} {charge.charge_id}: no reference"
        evidence = Evidence(line, entry=call.entry)
        self._ledger.add("no-reference", call.at, (evidence,), operation=call.op)

    def _unusual(self, call: Call) -> None:
        """Raise what the service took in another form than its document shows, or read otherwise
        than it is written: another version of it may not."""
        for name, words in call.undocumented.items():
            self._raise("undocumented-form", call, f"{name}: {words}", field=name)
        for name, words in call.misread.items():
            self._raise("query-not-as-written", call, f"{name}: {words}", field=name)

    def _unknown(self, call: Call, hints: Mapping[str, str]) -> None:
        """Raise the fields that nobody reads: what the client wanted with them does not happen."""
        for name, hint in hints.items():
            words = f"unknown field {name}"
            if hint:
                words = f"{words}, {hint}"
            self._raise("unknown-field", call, words, field=name)

    def lost(self, entry: int, at: int, what: str, nearest: str | None) -> None:
        """A call named a path or verb that does not exist."""
        line = f"{what}: no such operation"
        if nearest:
            line = f"{line}, nearest {nearest}"
        self._ledger.add("no-such-operation", at, (Evidence(line, entry=entry),), request=what)

    def _raise(self, finding: str, call: Call, said: str, **about: str) -> None:
        self._ledger.add(finding, call.at, (evidence_of(call, said),), operation=call.op, **about)


def is_clean(text: bytes, where: str, headers: Mapping[str, str]) -> bool:
    """Whether so many digits stand nowhere but in the field of the card number: then no card number
    does. Only the first million bytes of a body are searched, as a batch may have ten, and no
    header whose digits are not the client's own doing: those of HTTP, of tracers, and keys."""
    if text and not _is_clean_body(text[:_MOST_OF_BODY]):
        return False
    if not _UNREAD.issuperset(headers):
        for name, value in headers.items():
            if len(value) < _SHORTEST or name in _UNREAD:
                continue
            if not _is_clean_header(value[:_MOST_OF_HEADER]):
                return False
    return len(where) < _SHORTEST or _is_clean_place(where[:_MOST_READ])


def _is_clean_body(text: bytes) -> bool:
    """Whether a body has no long run of digits, or one alone where the card number belongs. Digits
    may be escaped, or parted by escapes; these are made single digits first, which can only make
    runs longer: so nothing is missed in as much as is searched field by field afterwards."""
    if _BACKSLASH in text or _PERCENT in text or not text.isascii():
        text = _ESCAPED_DIGIT_OR_GAP.sub(b"0", text[:_MOST_ESCAPED]) + text[_MOST_ESCAPED:]
    runs = text.translate(_DIGITS_AS_ZEROS, _PARTING).count(_LONG_RUN)
    if runs == 1 and (own := _OWN_NUMBER.search(text)) is not None:
        # The one run must begin the value of the card number.
        number = text[own.end() : own.end() + _LONGEST_VALUE]
        return number.translate(_DIGITS_AS_ZEROS, _AROUND_VALUE).startswith(_LONG_RUN)
    return not runs


@lru_cache(maxsize=4_096)
def _is_clean_header(value: str) -> bool:
    """Whether a header has no card number. A client sends the same ones with each call."""
    return not card_stands_in(value)


def _is_clean_place(where: str) -> bool:
    """Whether a path and query have no card number. Most are plain and have no long run of
    digits, which an expression tells at once."""
    if "%" in where or "+" in where:
        where = unquote_plus(where)
    is_plain = where.isascii() and "%" not in where and not _LONG.search(where)
    return is_plain or not card_stands_in(where)


def _places(call: Call) -> Iterator[str]:
    """Where in a call a card number stands, as evidence names it. So many characters are searched
    that no client can make one call cost a second."""
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
    """The texts and numbers of a body with their places, names of fields too; but for the field
    of the card number itself. A name like that in metadata is the shop's own, and no such field."""
    match value:
        case Mapping():
            for name, item in value.items():
                place = f"{path}.{name}" if path else str(name)
                yield place, str(name)
                is_own_field = str(name).lower() in _OWN and not path.endswith("metadata")
                if not is_own_field:
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
    if call.op == _BATCH:
        return _row_of(call)
    return next(_inexact_fields(call), None)


def _inexact_fields(call: Call) -> Iterator[str]:
    """The fields of a call with such amounts."""
    for place in _FIELDS.get(call.op, ()):
        *outer, name = place.split(".")
        for holder in _holders(call.request, outer):
            currency = _currency(holder, call)
            if _is_inexact(holder.get(name), currency, call.code):
                yield place if outer else f"the {name}"


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
    return given if isinstance(given, str) else call.currency


def _is_inexact(value: object, currency: str | None, code: int | None) -> bool:
    """Whether an amount has more digits after the point than its currency, or than any where that
    is not known; ``code`` is that of a refusal."""
    number = number_of(value)
    if number is None or not number.is_finite():
        return False
    known = CURRENCIES.get(currency.strip().upper()) if currency else None
    if known is not None:
        return places(number) > known.digits
    # The service knew the currency where it refused the amount: that was too long, or not exact.
    is_too_long = number.adjusted() >= MAX_INTEGER_DIGITS
    if code == Code.INVALID_AMOUNT and not is_too_long:
        return places(number) > 0
    return places(number) > _FINEST


def _row_of(call: Call) -> str | None:
    """The first row of a batch with such an amount, in words. Rows are searched as text, as a batch
    of 100,000 is read only later, and row by row."""
    text = call.request.get("batch")
    if not isinstance(text, str):
        return None
    for row in _ROW.finditer(text, 0, _LONGEST_BATCH):
        if _is_inexact(row["amount"], row["currency"] or call.currency, None):
            return f"the amount of line {text.count(chr(10), 0, row.start('amount')) + 1}"
    return None
