"""Card numbers where they do not belong: in a reference, in metadata, in a path or a header.

A card number outside its field ends in logs and databases that nobody protects, which the rules of
card schemes forbid. So every text of every request is searched for one. To parse and search each
request field by field would cost more than all else that is judged of it, and nearly none has one.
So there are two searches. The first looks at the bytes as they came and asks only whether there is
a run of so many digits anywhere, but for the one that begins the value of ``cardNumber``
(``is_clean``). It may take an order number for a card number, but never a card number for nothing.
Only a request that it does not let pass is searched field by field (``card_places``), by the
checksum of card numbers.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from urllib.parse import unquote_plus

from mockserver.domain.card_search import BREAKS, PARTS, card_stands_in
from mockserver.domain.facts import Call
from mockserver.domain.masking import is_for_phones, mask_start

_OWN_NUMBER = re.compile(rb'aymentInformation"\s*:\s*\{[^{}]*?ardNumber"')
"""What stands before the one card number that a request may have. Both names may begin with a
capital."""

_LONG = re.compile(rf"[0-9][0-9{BREAKS}{PARTS}]{{12}}")
"""A run that may have so many digits (``_SHORTEST``), in a path or a query."""

_SHORTEST = 13
"""Digits of the shortest run that is looked at: fewer are not a card number."""

_LONG_RUN = b"0" * _SHORTEST
_DIGITS_AS_ZEROS = bytes(
    ord("0") if ord("0") <= byte <= ord("9") else ord(" ") for byte in range(256)
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
"""What begins an escape of JSON, and of a form, in bytes."""

_MOST_ESCAPED = 80_000
"""Bytes of a body in which that is looked for: as many as ``_MOST_READ`` characters may take."""

_LONGEST_VALUE = 30
"""Characters in which a card number has begun: blanks, a colon and a quote before its digits."""

_AROUND_VALUE = PARTS.encode() + b':"'
"""What may stand before its digits, and between them."""

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

_OWN_FIELD = frozenset({"cardnumber", "card_number"})
"""Names of the field that card numbers belong in, in small letters."""

_LONGEST_PATH = 60
_MOST_OF_HEADER = 500
_MOST_OF_BODY = 1_000_000
_MOST_READ = 10_000
"""Characters of one call that are searched for card numbers field by field."""


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
    return len(where) < _SHORTEST or _is_clean_target(where[:_MOST_READ])


def _is_clean_body(text: bytes) -> bool:
    """Whether a body has no long run of digits, or one alone where the card number belongs. Digits
    may be escaped, or parted by escapes; these are made single digits first, which can only make
    runs longer: so nothing is missed in as much as is searched field by field afterwards."""
    if _BACKSLASH in text or _PERCENT in text or not text.isascii():
        # Whatever an escape stands for, it becomes a digit: most bodies have none.
        text = _ESCAPED_DIGIT_OR_GAP.sub(b"0", text[:_MOST_ESCAPED]) + text[_MOST_ESCAPED:]
    # What parts the digits of one number is left out, so that they follow one another.
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


def _is_clean_target(where: str) -> bool:
    """Whether a path and query have no card number. Most are plain and have no long run of
    digits, which an expression tells at once."""
    if "%" in where or "+" in where:
        where = unquote_plus(where)
    # A percent sign that is left was escaped twice, and what is not ASCII may be digits too.
    is_readable = where.isascii() and "%" not in where
    if is_readable and not _LONG.search(where):
        return True
    return not card_stands_in(where)


def card_places(call: Call) -> Iterator[str]:
    """Where in a call a card number stands, as evidence names it. No more characters are searched
    than keep a client from making one call cost a second."""
    characters_left = _MOST_READ
    for path, text in _texts(call.request, ""):
        # In a field for phones many digits may be a number to call.
        if card_stands_in(text[:characters_left], for_phones=is_for_phones(path)):
            yield mask_start(path, _LONGEST_PATH)
        characters_left -= len(text)
        if characters_left <= 0:
            break
    if not _is_clean_target(call.where[:_MOST_READ]):
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
                # A client may name a field of metadata by anything.
                yield place, str(name)
                is_own_field = str(name).lower() in _OWN_FIELD and not path.endswith("metadata")
                if not is_own_field:
                    yield from _texts(item, place)
        case list():
            for item in value:
                yield from _texts(item, path)
        case str() | int() | Decimal():
            yield path, str(value)
        case _:
            pass
