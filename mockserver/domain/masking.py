"""Card numbers, ccv and keys, masked wherever a caller put them: none reaches a log, a journal, an
export, an error or a page.

Two questions are asked of a text. By its field (``mask_field``): what a field named ``ccv``,
``cardNumber`` or ``Authorization`` holds is masked whatever it looks like, right or wrong. By its
form (``mask_text``): what looks like a card number or a secret key is masked wherever it stands,
since callers put them into references, addresses and e-mails. ``card_search`` says what looks like
one. Where both could be wrong, more is masked: a reference with some stars costs a look into the
shop's own log, a number that is shown costs far more.

Everything that is shown passes here, also long bodies, so a text is searched to a limit
(``_MOST_LOOKED_AT``), and beyond it all digits of long runs are masked without a search.

Sources: docs/spec/service.md, What the service does, 6-8; assumption ``card.masking``;
docs/security.md; docs/spec/published-facts.md, 1.2 (field names in any letter case).
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from urllib.parse import unquote

from mockserver.domain.card_search import (
    CANDIDATE,
    LIKE_A_CARD,
    cards_in,
    is_card,
    is_surely_phone,
    plain_of,
    readings_of,
)
from mockserver.domain.cards import MAX_LENGTH, MIN_LENGTH, TEST_NUMBERS, clean, mask
from mockserver.domain.reading import query_pairs

LONGEST_TEXT = 20_000
"""Characters of one text that are shown."""

CARD_VARIABLE = "$CARD_NUMBER"
"""Replaces a card number that is not a published test number, in a request that is to be sent
again."""

KEY = re.compile(r"sk_(?<![0-9A-Za-z]sk_)[\w.~-]+")
_CARD_FIELDS = frozenset({"cardnumber", "pan", "accountnumberpan"})
_CCV_FIELD = re.compile(r"(?:ccv|cvv|cvc|cvn|csc)2?$|securitycode$|verificationvalue$")
_CCV_PRINTED = (
    r"""(?i)((?:ccv|cvv|cvc|cvn|csc|security_?code|verification_?value)2?["'\\]{0,3}\s{0,3}[:=]\s{0,3}["'\\]{0,3})"""
    r"[0-9]{3,4}(?![0-9])"
)
_PHONE_FIELD = re.compile(r"(?:phone|mobile|msisdn)(?:number)?$")
_TEST_CCV = "123456789"
_KEY_FIELDS = frozenset(
    {
        "authorization",
        "proxyauthorization",
        "xsecretkey",
        "secretkey",
        "xadmintoken",
        "admintoken",
        "cookie",
    }
)
_NOT_WORD = re.compile(r"[^a-z0-9]")
_LONGEST_PREFIX = 8
_MOST_LOOKED_AT = 5_000
"""Characters of the runs of digits of one text that are searched for card numbers."""

LONGEST_CARD_TEXT = 5 * MAX_LENGTH
"""Characters that a card number takes at most: its digits, and up to four between any two."""

LONGEST_NAME = 100


def mask_text(text: str) -> str:
    """The text with every card number in it as first four, stars, last four, and every secret key
    as ``sk_***``.

    What a card number is: ``card_search``. A run of more digits than one has is masked throughout
    when one may be in it, and so are the later runs of a text that has very many. Addresses are
    percent-encoded, also within other texts, and some clients do it twice: what has to be masked in
    a text once it is decoded is shown decoded.
    """
    if "%" not in text:
        # Too short for a card number, as most references are.
        if len(text) < MIN_LENGTH and "sk_" not in text:
            return text
        return _mask_as_it_stands(text)
    as_written, *as_decoded = readings_of(text)
    for reading in as_decoded:
        masked = _mask_as_it_stands(reading)
        if masked != reading:
            return masked
    return _mask_as_it_stands(as_written)


def _mask_as_it_stands(text: str) -> str:
    """Keys and card numbers masked, without decoding anything. Numbers are looked for in the plain
    form, and cut out of the text at the same places."""
    text = KEY.sub("sk_***", text)
    plain = plain_of(text)
    if not LIKE_A_CARD.search(plain):
        return text
    masked = list[str]()
    # How much of the text masked holds, and how many characters may still be searched.
    done, left = 0, _MOST_LOOKED_AT
    for candidate in CANDIDATE.finditer(plain):
        if candidate["id"] is not None:
            # An id of ours, which passes as a number by chance.
            continue
        begin, end = candidate.span()
        searched = min(end, begin + left)
        left -= searched - begin
        # From rest on, all digits are masked without a search. A number may reach beyond what is
        # searched, so as many characters before that border belong to the rest as one may have.
        rest = end
        if searched < end:
            rest = max(begin, searched - LONGEST_CARD_TEXT)
        for start, stop in cards_in(plain, begin, searched):
            if stop > rest:
                # It reaches into the rest, and is masked with it.
                rest = min(rest, start)
                break
            masked += [text[done:start], _masked_card(plain[start:stop])]
            done = stop
        masked += [text[done:rest], mask_digits(text[rest:end])]
        done = end
    return "".join(masked) + text[done:]


def _masked_card(text: str) -> str:
    """A card number as first four, stars, last four. Several that overlap, and a longer run that
    may have one in it, as stars alone: four digits shown may be the middle of a number."""
    digits = "".join(filter(str.isdecimal, text))
    return mask(digits) if is_card(digits) else "*" * len(digits)


def mask_printed(text: str) -> str:
    """A text that may hold JSON or a form, masked like any text, and each ccv that stands behind
    its name."""
    return re.sub(_CCV_PRINTED, r"\1***", mask_text(text))


def mask_start(text: str, most: int) -> str:
    """The first ``most`` characters of a masked text; a long text is not examined as a whole."""
    return _masked_start(text[: most + LONGEST_CARD_TEXT])[:most]


_masked_start = lru_cache(maxsize=1_000)(mask_text)
"""The beginnings that were masked last: a value that a thousand rules look at is masked once."""


def printable(text: str) -> str:
    """A text of one line: what a client sends, or a file says, must not look like lines of the
    log."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "?" for char in text)


def star_key(path: str, key: str | None) -> str:
    """The path with each part that is the key of its sandbox masked, as some addresses carry it:
    a key of a shop's own choice need not look like one."""
    if not key or key not in path:
        return path
    return "/".join("***" if part == key else part for part in path.split("/"))


def mask_digits(text: str) -> str:
    """The text with every digit masked: for what cannot be read, where a card number may stand in
    any form."""
    pairs = zip(text, plain_of(text), strict=True)
    return "".join("*" if plain.isdigit() else char for char, plain in pairs)


def mask_field(name: str, text: str) -> str:
    """The whole text of a field, masked by its name and its form."""
    return _mask_of(name[-LONGEST_NAME:])(text)


def sendable_field(name: str, text: str) -> str:
    """The whole text of a field, fit to be sent again: what is masked by its name is replaced by
    what a reader can fill in or the sandbox accepts."""
    mask_it = _mask_of(name[-LONGEST_NAME:])
    masked = mask_it(text)
    if masked == text or clean(text) in TEST_NUMBERS:
        return text
    if mask_it is _mask_card:
        return CARD_VARIABLE
    if mask_it is _mask_ccv:
        return _TEST_CCV[: len(text)]
    return masked


def is_masked_by_name(name: str) -> bool:
    """Whether a field of this name, or whose name ends like this, is masked whatever its text looks
    like."""
    return _mask_of(name[-LONGEST_NAME:]) in (_mask_card, _mask_ccv, _mask_key)


def is_for_phones(name: str) -> bool:
    """Whether a field of this name holds a phone number."""
    return _mask_of(name[-LONGEST_NAME:]) is _mask_phone


@lru_cache(maxsize=1_000)
def _mask_of(name: str) -> Callable[[str], str]:
    """What masks the text of a field of this name."""
    folded = _NOT_WORD.sub("", name.lower())
    if folded in _KEY_FIELDS:
        return _mask_key
    if _CCV_FIELD.search(folded):
        return _mask_ccv
    if _PHONE_FIELD.search(folded):
        return _mask_phone
    return _mask_card if folded in _CARD_FIELDS else mask_printed


def _mask_key(_: str) -> str:
    """Nothing of a key or a credential is shown."""
    return "***"


def _mask_ccv(_: str) -> str:
    """Not even its length, which names the brand. A function of its own: who sends a request again
    must know a ccv from a key (``sendable_field``)."""
    return "***"


def _mask_phone(text: str) -> str:
    """A phone number is shown where it is surely one: shops are debugged by it. Else it may be a
    card number in the wrong field."""
    return text if is_surely_phone(text) else mask_text(text)


def _mask_card(text: str) -> str:
    """A card number, right or wrong: of a wrong one, such as one with a digit too many, only the
    first four characters are shown."""
    masked = mask_text(text)
    # With so few digits it is a search by the leading ones, or is masked now.
    if sum(map(str.isdigit, masked)) <= _LONGEST_PREFIX:
        return masked
    return masked[:4] + mask_digits(masked[4:])


def mask_query(query: bytes, field: Callable[[str, str], str] = mask_field) -> dict[str, object]:
    """A query by name, as it may be shown, or with ``sendable_field`` sent again."""
    pairs = query_pairs(query)
    return {mask_text(name): field(unquote(name), value) for name, value in pairs}


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
