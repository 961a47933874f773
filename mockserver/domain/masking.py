"""Card numbers, ccv and keys, masked wherever a caller put them: none reaches a log, a journal, an export, an error
or a page.

Sources: service document, What the service does, 6-8; assumption ``card.masking``; control document, Security;
published facts, 1.2 (field names in any letter case).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from enum import Enum
from functools import lru_cache
from itertools import accumulate
from urllib.parse import parse_qsl

from mockserver.domain.cards import DOUBLED, MAX_LENGTH, MIN_LENGTH, TEST_NUMBERS, clean, lengths_of, mask
from mockserver.domain.percent import decoded, decoding
from mockserver.domain.remembered import Remembered
from mockserver.domain.slices import Slices, at_once
from mockserver.domain.windows import pieces, replaced, windows

LONGEST_TEXT = 20_000
"""Characters of one text that are shown."""

CARD_VARIABLE = "$CARD_NUMBER"
"""Replaces a card number that is not a published test number, in a request that is to be sent again."""

_PARTS = " \t._/+-"
_PART = rf"[{_PARTS}]{{0,3}}+"
_CANDIDATE = (
    # An identifier of our own form is left alone: its hex digits pass the check one time in ten.
    r"(?<![0-9A-Za-z])(?P<id>(?=[0-9]*[a-f])(?:[0-9a-f]{32}|[0-9a-f]{24})"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![0-9A-Za-z])"
    rf"|[0-9](?:{_PART}[0-9]){{11,}}+"
)
_CANDIDATE_GOES_ON = rf"(?:{_PART}[0-9])++"
_QUICK = re.compile(rf"[0-9](?:{_PART}[0-9]){{11}}")
_PARTING = frozenset({"Zs", "Zl", "Zp", "Pd", "Pc", "Cf", "Mn", "Me"})
_GROUP = re.compile(r"[0-9]+")
KEY = re.compile(r"(?<![0-9A-Za-z])sk_[\w.~-]+")
_KEY_GOES_ON = re.compile(r"[\w.~-]+")
_AS_NOUGHT = bytes.maketrans(b"123456789", b"0" * 9)
_SHORTEST = b"0" * MIN_LENGTH
_STARS = str.maketrans("0123456789", "*" * 10)
_CARD_FIELDS = frozenset({"cardnumber", "pan", "accountnumberpan"})
_CCV_FIELD = re.compile(r"(?:ccv|cvv|cvc|cvn|csc)2?$|securitycode$|verificationvalue$")
_CCV_PRINTED = (
    r"""(?i)((?:ccv|cvv|cvc|cvn|csc|security_?code|verification_?value)2?["'\\]{0,3}\s{0,3}[:=]\s{0,3}["'\\]{0,3})"""
    r"[0-9]{3,4}(?![0-9])"
)
_TEST_CCV = "123456789"
_KEY_FIELDS = frozenset(
    {"authorization", "proxyauthorization", "xsecretkey", "secretkey", "xadmintoken", "admintoken", "cookie"}
)
_NOT_WORD = re.compile(r"[^a-z0-9]")
_LONGEST_PREFIX = 8
_LONGEST_ID = 40
_MOST_LOOKED_AT = 5_000
_USUAL = (15, 16)
LONGEST_CARD_TEXT = 4 * MAX_LENGTH
_MOST_KNOWN = 5_000
LONGEST_NAME = 100
_MOST_DECODED = 2


class Effort:
    """How many characters have been examined closely so far, plus a tenth of those that were only read: long work
    pauses by it, and nothing else depends on it."""

    signs = 0


EFFORT = Effort()

MUCH = 10_000
"""Characters of that kind after which long work pauses."""


class _Plain(dict[int, str]):
    """A table for ``str.translate``: digits of every script and form as 0 to 9, what separates or joins characters as
    a blank. Every character stays one character, so that positions hold."""

    def __missing__(self, code: int) -> str:
        plain = chr(code)
        digit, simple = unicodedata.digit(plain, None), unicodedata.normalize("NFKC", plain)
        if digit is not None:
            plain = str(digit)
        elif unicodedata.category(plain) in _PARTING or plain in "·•\u2212":
            plain = " "
        elif len(simple) == 1:
            plain = simple
        if len(self) < _MOST_KNOWN:
            self[code] = plain
        return plain


_PLAIN = _Plain({code: chr(code) for code in range(128)})


def mask_text(text: str) -> str:
    """The text with every card number in it as first four, stars, last four, and every secret key as ``sk_***``.

    A card number has a right check digit and begins and is as long as those of a scheme; blanks, hyphens, points and
    the like may part its digits, which may be those of any script. A run of more digits than a card number has is
    masked throughout when one may be in it, and so are the later runs of a text that has very many. Addresses are
    percent-encoded, also within other texts, and some clients do it twice: what has to be masked in a text once it is
    decoded is shown decoded.
    """
    if text.isascii() and "%" not in text and "sk_" not in text and not _QUICK.search(text):
        EFFORT.signs += len(text) // 10
        return text
    return at_once(masking(text))


def masking(text: str) -> Slices[str]:
    """The same, with pauses in a long text."""
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
    for piece in pieces(plain, re.compile(_CANDIDATE), re.compile(_CANDIDATE_GOES_ON), _QUICK):
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
        for start, end, shown in _cards_in(plain, begin, far) if far > begin else ():
            if end > rest:
                rest = min(rest, start)
                break
            parts += [text[done:start], shown]
            done = end
        if rest < stop:
            parts += [text[done:rest], mask_digits(text[rest:stop])]
            done = stop
    return "".join(parts) + text[done:]


def _key_shown(part: str, is_more: bool, goes_on: bool) -> str:
    return "" if is_more else "sk_***"


def _plain(text: str) -> Slices[str]:
    parts = []
    for part in windows(text):
        parts.append(part.translate(_PLAIN))
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
    plain = text.translate(_PLAIN)
    return "".join("*" if digit.isdigit() else sign for sign, digit in zip(text, plain, strict=True))


def _cards_in(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Where the card numbers of a run of digits begin and end, and what is shown of each."""
    groups: list[tuple[int, int]] = []
    for group in _GROUP.finditer(text, start, end):
        if len(group[0]) <= MAX_LENGTH:
            groups.append(group.span())
            continue
        yield from _parted(text, groups)
        groups.clear()
        digits = group[0]
        if len(digits) > _LONGEST_ID or _hides_number(digits):
            yield (*group.span(), "*" * len(digits))
    yield from _parted(text, groups)


def _parted(text: str, groups: list[tuple[int, int]]) -> Iterator[tuple[int, int, str]]:
    """The same for groups that each have no more digits than a card number; numbers that overlap are one."""
    digits = "".join(text[start:end] for start, end in groups)
    ends = list(accumulate(end - start for start, end in groups))
    begins = [0, *ends][:-1]
    starts = dict(zip(begins, groups, strict=True))
    stops = dict(zip(ends, groups, strict=True))
    first = last = 0
    for begin, end in [*_numbers(digits, begins, stops), (len(digits), 0)]:
        if begin < last:
            last = max(last, end)
            continue
        if last:
            shown = mask(digits[first:last]) if last - first <= MAX_LENGTH else "*" * (last - first)
            yield starts[first][0], stops[last][1], shown
        first, last = begin, end


def _numbers(digits: str, begins: Iterable[int], ends: Container[int]) -> Iterator[tuple[int, int]]:
    """Where card numbers begin and end."""
    if len(digits) < MIN_LENGTH:
        return
    even = [ord(digit) - 48 for digit in digits]
    odd = even.copy()
    even[1::2] = [DOUBLED[digit] for digit in even[1::2]]
    odd[::2] = [DOUBLED[digit] for digit in odd[::2]]
    # What the digits before a place count for, when every digit at an odd place counts double, and at an even one.
    sums = list(accumulate(even, initial=0)), list(accumulate(odd, initial=0))
    for begin in begins:
        for length in lengths_of(digits[begin : begin + 4]):
            end = begin + length
            if end in ends and (sums[1 - end % 2][end] - sums[1 - end % 2][begin]) % 10 == 0:
                yield begin, end


def _hides_number(digits: str) -> bool:
    """Whether a long run of digits begins or ends with a card number, or one of the usual length is anywhere in it."""
    places = range(len(digits) + 1)
    found = _numbers(digits, places, places)
    return any(begin == 0 or end == len(digits) or end - begin in _USUAL for begin, end in found)


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
    return at_once(masking_field(name, text)) if is_masked_by_name(name[-LONGEST_NAME:]) else mask_text(text)


def masking_field(name: str, text: str) -> Slices[str]:
    """The same, with pauses in a long text."""
    match _kind_of(name[-LONGEST_NAME:]):
        case _Kind.PLAIN:
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


@lru_cache(maxsize=1_000)
def _kind_of(name: str) -> _Kind:
    folded = _NOT_WORD.sub("", name.lower())
    if folded in _KEY_FIELDS:
        return _Kind.KEY
    if _CCV_FIELD.search(folded):
        return _Kind.CCV
    return _Kind.CARD if folded in _CARD_FIELDS else _Kind.PLAIN


def _has_own_mask(name: str) -> bool:
    return _kind_of(name) is not _Kind.PLAIN


is_masked_by_name = Remembered(1_000, _has_own_mask).__getitem__
"""Whether a field of this name, or whose name ends like this, is masked whatever its text looks like."""


def is_plain(raw: bytes) -> bool:
    """Whether ``mask_text`` leaves a text as it is, so far as can be seen in a tenth of its time: one in ASCII without
    so many digits one after the other, whatever parts them, as the shortest card number has, and nothing encoded."""
    if b"sk_" in raw or b"%" in raw or not raw.isascii():
        return False
    return _SHORTEST not in raw.translate(_AS_NOUGHT, _PARTS.encode())


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
