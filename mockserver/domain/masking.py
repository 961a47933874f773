"""Card numbers, ccv and keys, masked wherever a caller put them: none reaches a log, a journal, an export, an error
or a page.

Sources: docs/spec/service.md, What the service does, 6-8; assumption ``card.masking``; docs/security.md;
docs/spec/published-facts.md, 1.2 (field names in any letter case).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from urllib.parse import parse_qsl

from mockserver.domain.card_search import (
    BREAKS,
    CANDIDATE,
    CANDIDATE_GOES_ON,
    PARTS,
    QUICK,
    cards_in,
    is_card,
    is_phone,
    plain_of,
)
from mockserver.domain.cards import MAX_LENGTH, MIN_LENGTH, TEST_NUMBERS, clean, mask
from mockserver.domain.percent import decoded, decoding
from mockserver.domain.remembered import Remembered
from mockserver.domain.slices import Slices, at_once
from mockserver.domain.windows import pieces, replaced, windows

LONGEST_TEXT = 20_000
"""Characters of one text that are shown."""

CARD_VARIABLE = "$CARD_NUMBER"
"""Replaces a card number that is not a published test number, in a request that is to be sent again."""

KEY = re.compile(r"(?<![0-9A-Za-z])sk_[\w.~-]+")
_KEY_GOES_ON = re.compile(r"[\w.~-]+")
_AS_NOUGHT = bytes.maketrans(b"123456789", b"0" * 9)
_PARTING = (PARTS + BREAKS).encode()
_SHORTEST = b"0" * MIN_LENGTH
_STARS = str.maketrans("0123456789", "*" * 10)
_CARD_FIELDS = frozenset({"cardnumber", "pan", "accountnumberpan"})
_CCV_FIELD = re.compile(r"(?:ccv|cvv|cvc|cvn|csc)2?$|securitycode$|verificationvalue$")
_CCV_PRINTED = (
    r"""(?i)((?:ccv|cvv|cvc|cvn|csc|security_?code|verification_?value)2?["'\\]{0,3}\s{0,3}[:=]\s{0,3}["'\\]{0,3})"""
    r"[0-9]{3,4}(?![0-9])"
)
_PHONE_FIELD = re.compile(r"(?:phone|mobile|msisdn)(?:number)?$")
_TEST_CCV = "123456789"
_KEY_FIELDS = frozenset(
    {"authorization", "proxyauthorization", "xsecretkey", "secretkey", "xadmintoken", "admintoken", "cookie"}
)
_NOT_WORD = re.compile(r"[^a-z0-9]")
_LONGEST_PREFIX = 8
_MOST_LOOKED_AT = 5_000
LONGEST_CARD_TEXT = 4 * MAX_LENGTH
LONGEST_NAME = 100
_MOST_DECODED = 2
_LEAST_EFFORT = 100


class Effort:
    """How many characters have been examined closely so far, plus a tenth of those that were only read: long work
    pauses by it, and nothing else depends on it."""

    signs = 0


EFFORT = Effort()

MUCH = 10_000
"""Characters of that kind after which long work pauses."""


def mask_text(text: str) -> str:
    """The text with every card number in it as first four, stars, last four, and every secret key as ``sk_***``.

    What a card number is: ``card_search``. A run of more digits than one has is masked throughout when one may be in
    it, and so are the later runs of a text that has very many. Addresses are percent-encoded, also within other texts,
    and some clients do it twice: what has to be masked in a text once it is
    decoded is shown decoded.
    """
    if text.isascii() and "%" not in text and "sk_" not in text and not QUICK.search(text):
        EFFORT.signs += len(text) // 10
        return text
    return at_once(masking(text))


def masking(text: str) -> Slices[str]:
    """The same, with pauses in a long text."""
    EFFORT.signs += _LEAST_EFFORT
    read = masked = yield from _masking_plain(text)
    for _ in range(_MOST_DECODED):
        if "%" not in read or (plain := (yield from decoding(read))) == read:
            break
        if (shown := (yield from _masking_plain(read := plain))) != plain:
            return shown
    return masked


def _masking_plain(text: str) -> Slices[str]:
    EFFORT.signs += len(text) // 10
    if "sk_" in text:
        text = yield from replaced(text, KEY, _KEY_GOES_ON, _key_shown)
    plain = text if text.isascii() else (yield from _plain(text))
    parts, done, left = list[str](), 0, _MOST_LOOKED_AT
    for piece in pieces(plain, re.compile(CANDIDATE), re.compile(CANDIDATE_GOES_ON), QUICK):
        if piece is None:
            yield
            continue
        begin, stop, is_more, _ = piece
        EFFORT.signs += stop - begin
        # The first piece of a long run has more signs than are looked at.
        far = begin if is_more else min(stop, begin + left)
        left -= far - begin
        # A number may reach beyond the part that is looked at, so its last signs are masked with the rest.
        rest = stop if far == stop else max(begin, far - LONGEST_CARD_TEXT)
        for start, end in cards_in(plain, begin, far) if far > begin else ():
            if end > rest:
                rest = min(rest, start)
                break
            parts += [text[done:start], _card_shown(plain[start:end])]
            done = end
        if rest < stop:
            parts += [text[done:rest], mask_digits(text[rest:stop])]
            done = stop
    return "".join(parts) + text[done:]


def _card_shown(text: str) -> str:
    digits = "".join(filter(str.isdecimal, text))
    return mask(digits) if is_card(digits) else "*" * len(digits)


def _key_shown(part: str, is_more: bool, goes_on: bool) -> str:
    return "" if is_more else "sk_***"


def _plain(text: str) -> Slices[str]:
    parts = []
    for part in windows(text):
        parts.append(plain_of(part))
        yield
    return "".join(parts)


def mask_printed(text: str) -> str:
    """What a program printed, masked like any text, and each ccv that stands behind its name."""
    return re.sub(_CCV_PRINTED, r"\1***", mask_text(text))


def mask_start(text: str, most: int) -> str:
    """The first ``most`` characters of a masked text; a long text is not examined as a whole."""
    return mask_text(text[: most + LONGEST_CARD_TEXT])[:most]


def printable(text: str) -> str:
    """A text of one line: what a client sends, or a file says, must not look like lines of the log."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "?" for char in text)


def star_key(path: str, key: str | None) -> str:
    """The path with each part that is the key masked, even when it does not look like a key."""
    return "/".join("***" if part == key else part for part in path.split("/")) if key and key in path else path


def mask_digits(text: str) -> str:
    """The text with every digit masked: for what cannot be read, where a card number may stand in any form."""
    if text.isascii():
        return text.translate(_STARS)
    plain = plain_of(text)
    return "".join("*" if digit.isdigit() else sign for sign, digit in zip(text, plain, strict=True))


def sendable_field(name: str, text: str) -> str:
    """The whole text of a field, fit to be sent again."""
    masked = mask_field(name, text)
    if masked == text or clean(text) in TEST_NUMBERS:
        return text
    match _kind_of(name[-LONGEST_NAME:]):
        case _Kind.CARD:
            return CARD_VARIABLE
        case _Kind.CCV:
            return _TEST_CCV[: len(text)]
        case _:
            return masked


def mask_field(name: str, text: str) -> str:
    """The whole text of a field, masked by its name and its form."""
    if is_masked_by_name(name[-LONGEST_NAME:]):
        return at_once(masking_field(name, text))
    masked = mask_text(text)
    return text if masked != text and is_for_phones(name) and is_phone(text) else masked


def masking_field(name: str, text: str) -> Slices[str]:
    """The same, with pauses in a long text."""
    match _kind_of(name[-LONGEST_NAME:]):
        case _Kind.PHONE if is_phone(text):
            return text
        case _Kind.PLAIN | _Kind.PHONE:
            return (yield from masking(text))
        case _Kind.CARD:
            masked, digits = (yield from masking(text)), 0
            for part in windows(masked):
                digits += sum(map(str.isdigit, part))
                yield
            if digits <= _LONGEST_PREFIX:
                # A search by leading digits, or a number that was masked before.
                return masked
            parts = [masked[:4]]
            for part in windows(masked[4:]):
                parts.append(mask_digits(part))
                yield
            return "".join(parts)
        case _Kind.CCV | _Kind.KEY:
            return "***"


class _Kind(Enum):
    """What a field holds, by its name."""

    PLAIN = "anything"
    CARD = "a card number, right or wrong"
    CCV = "a card verification value"
    KEY = "a key or a credential"
    PHONE = "a phone number"


@lru_cache(maxsize=1_000)
def _kind_of(name: str) -> _Kind:
    folded = _NOT_WORD.sub("", name.lower())
    if folded in _KEY_FIELDS:
        return _Kind.KEY
    if _CCV_FIELD.search(folded):
        return _Kind.CCV
    if _PHONE_FIELD.search(folded):
        return _Kind.PHONE
    return _Kind.CARD if folded in _CARD_FIELDS else _Kind.PLAIN


def _has_own_mask(name: str) -> bool:
    return _kind_of(name) not in (_Kind.PLAIN, _Kind.PHONE)


def is_for_phones(name: str) -> bool:
    """Whether a field of this name holds a phone number."""
    return _kind_of(name[-LONGEST_NAME:]) is _Kind.PHONE


is_masked_by_name = Remembered(1_000, _has_own_mask).__getitem__
"""Whether a field of this name, or whose name ends like this, is masked whatever its text looks like."""


def is_plain(raw: bytes) -> bool:
    """Whether ``mask_text`` leaves a text as it is, so far as can be seen in a tenth of its time: one in ASCII without
    so many digits one after the other, whatever parts them, as the shortest card number has, and nothing encoded."""
    if b"sk_" in raw or b"%" in raw or not raw.isascii():
        return False
    return _SHORTEST not in raw.translate(_AS_NOUGHT, _PARTING)


def mask_query(query: bytes, field: Callable[[str, str], str] = mask_field) -> dict[str, object]:
    """A query by name, as it may be shown, or with ``sendable_field`` sent again."""
    pairs = parse_qsl(query.decode("utf-8", "replace"), keep_blank_values=True, errors="replace")
    return {mask_text(name): field(decoded(name), value) for name, value in pairs}


def mask_headers(headers: Mapping[str, str]) -> dict[str, object]:
    """Request headers as they may be shown: keys and credentials as stars."""
    return {mask_text(name): mask_field(name, _readable(value)) for name, value in headers.items()}


def _readable(value: str) -> str:
    """A header as its client wrote it, where that was UTF-8."""
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value
