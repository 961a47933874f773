"""Where card numbers stand in a text: the one definition, by which they are masked and by which
findings are raised.

A card number begins and is as long as those of a scheme, and its check digit is right. Blanks,
hyphens, points, commas, quotes, line ends and the like may part its digits, which may be those of
any script. All that is like one is masked. A finding accuses a developer, so it is raised for less:
for what can hardly be anything else (``card_stands_in``).
"""

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from urllib.parse import unquote

from mockserver.domain.cards import DOUBLED, MAX_LENGTH, MIN_LENGTH, lengths_of

PARTS = " \t._/+-"
"""What may part digits within a line, as findings see it."""

_ALSO_PARTS = ",;:|'\"\\\\"
"""What may part digits that are masked."""

BREAKS = "\r\n\v\f"
_PART = (
    rf"(?:[{_ALSO_PARTS}{PARTS}]{{0,4}}+"
    # A line that begins with more than digits begins with something else, as rows do with an id.
    rf"|[ \t]?[{BREAKS}]{{1,2}}+[ \t]?(?![0-9]{{1,{MAX_LENGTH}}}+[A-Za-z]))"
)
CANDIDATE = re.compile(
    # An identifier of our own form is left alone: its hex digits pass the check one time in ten.
    r"(?<![0-9A-Za-z])(?P<id>(?=[0-9]*[a-fA-F])(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{24})"
    r"|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})(?![0-9A-Za-z])"
    rf"|[0-9](?:{_PART}[0-9]){{11,}}+"
)
LIKE_A_CARD = re.compile(rf"[0-9](?:{_PART}[0-9]){{11}}")
"""What is in every text that has a candidate."""

_PARTING = frozenset({"Zs", "Zl", "Zp", "Pd", "Pc", "Cf", "Mn", "Me"})
_GROUP = re.compile(r"[0-9]+")
_ENCODED_DIGIT = re.compile("%(?:25)*3[0-9]")
_LONGEST_ID = 40
_USUAL = (15, 16)
_MOST_KNOWN = 5_000
_SHORTEST_REPORTED = 13
_PLAINLY_PARTED = frozenset({" ", "-"})
_REPORTED = frozenset(PARTS + BREAKS)
_GROUP_OF_FOUR = re.compile(r"(?<![0-9A-Za-z])(?=[A-Z]*[0-9])[0-9A-Z]{4}[ -]\Z")
"""Before a number it is part of a longer one: of an IBAN, or of a parcel."""

_PRINTED = frozenset(
    {(4, 4, 4, 4), *((4, 4, 4, 4, rest) for rest in (1, 2, 3)), (4, 6, 5), (4, 6, 4)}
)
_MOST_DECODED = 2
_PHONE = r"\+ ?[1-9](?:[ ().-]{0,2}+[0-9]){6,14}+(?![ ().-]{0,2}+[0-9])"
"""An international phone number (E.164): no card number of 16 digits."""

_IN_PHONE_FIELD = re.compile(
    r"\s*(?:(\+|00(?:11)?|01[01])[ ()./-]{0,2})?[1-9](?:[ ()./-]{0,2}+[0-9]){4,14}\s*"
)
_LONGEST_PHONE = 40
_SURE_PHONE = 13
"""Digits up to which no card is issued nowadays that a phone number could be taken for."""


@lru_cache(maxsize=_MOST_KNOWN)
def _plain(char: str) -> str:
    """A digit of any script and form as 0 to 9, what separates or joins characters as a blank. It
    stays one character, so that positions hold."""
    digit, simple = unicodedata.digit(char, None), unicodedata.normalize("NFKC", char)
    if digit is not None:
        return str(digit)
    if unicodedata.category(char) in _PARTING or char in "·•\u2212\x85":
        return char if char.isascii() else " "
    return simple if len(simple) == 1 else char


def plain_of(text: str) -> str:
    """The text with digits as 0 to 9 and what parts them in ASCII, character by character."""
    return text if text.isascii() else "".join(map(_plain, text))


def readings_of(text: str) -> Iterator[str]:
    """The text as it stands, and as it reads decoded once and twice, where that differs."""
    yield text
    for _ in range(_MOST_DECODED):
        plain = unquote(text)
        if plain == text:
            return
        yield plain
        text = plain


def cards_in(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the card numbers of a candidate begin and end: numbers that overlap are one, and a run
    of more digits than a card number usually has is one throughout when one may be in it."""
    for group, groups in _groups_in(text, start, end):
        first = last = 0
        spans = [(begin, stop) for begin, stop, _ in _parted(text, groups)]
        spans += [one for one in groups if one[1] - one[0] > _USUAL[-1] and _is_glued(text, *one)]
        for begin, stop in sorted(spans):
            if begin < last:
                last = max(last, stop)
                continue
            if last:
                yield first, last
            first, last = begin, stop
        if last:
            yield first, last
        if group is not None and (
            group[1] - group[0] > _LONGEST_ID or _hides_number(text[slice(*group)])
        ):
            yield group


_Span = tuple[int, int]


def _groups_in(text: str, start: int, end: int) -> Iterator[tuple[_Span | None, list[_Span]]]:
    """Groups of digits that follow one another, none longer than a card number, and the longer one
    behind them."""
    groups: list[_Span] = []
    for group in _GROUP.finditer(text, start, end):
        if len(group[0]) <= MAX_LENGTH:
            groups.append(group.span())
        else:
            yield group.span(), groups
            groups = []
    yield None, groups


def _parted(text: str, groups: list[_Span]) -> Iterator[tuple[int, int, int]]:
    """Where the card numbers begin and end that groups of digits make, and how many digits they
    have."""
    digits = "".join(text[start:end] for start, end in groups)
    ends = list(accumulate(end - start for start, end in groups))
    begins = [0, *ends][:-1]
    starts = dict(zip(begins, (start for start, _ in groups), strict=True))
    stops = dict(zip(ends, (end for _, end in groups), strict=True))
    for begin, end in _numbers(digits, begins, stops):
        yield starts[begin], stops[end], end - begin


def _numbers(digits: str, begins: Iterable[int], ends: Container[int]) -> Iterator[tuple[int, int]]:
    """Where card numbers begin and end."""
    if len(digits) < MIN_LENGTH:
        return
    even = [ord(digit) - 48 for digit in digits]
    odd = even.copy()
    even[1::2] = [DOUBLED[digit] for digit in even[1::2]]
    odd[::2] = [DOUBLED[digit] for digit in odd[::2]]
    # What the digits before a place count for, when every digit at an odd place counts double, and
    # at an even one.
    sums = list(accumulate(even, initial=0)), list(accumulate(odd, initial=0))
    for begin in begins:
        for length in lengths_of(digits[begin : begin + 4]):
            end = begin + length
            if end in ends and (sums[1 - end % 2][end] - sums[1 - end % 2][begin]) % 10 == 0:
                yield begin, end


def _hides_number(digits: str) -> bool:
    """Whether a long run of digits begins or ends with a card number, or one of the usual length is
    anywhere in it."""
    places = range(len(digits) + 1)
    found = _numbers(digits, places, places)
    return any(begin == 0 or end == len(digits) or end - begin in _USUAL for begin, end in found)


def _is_glued(text: str, start: int, stop: int) -> bool:
    """Whether a run of digits that is too long for most cards begins or ends with a number of the
    usual length. One whose first digit is percent-encoded is found once it is decoded."""
    if start and _ENCODED_DIGIT.match(text, start - 1):
        return False
    digits, size = text[start:stop], stop - start
    starts, ends = {0, *(size - length for length in _USUAL)}, {size, *_USUAL}
    found = _numbers(digits, sorted(starts), ends)
    return any(end - begin in _USUAL and (begin == 0 or end == size) for begin, end in found)


def is_card(digits: str) -> bool:
    """Whether some digits are a card number as a whole."""
    return any(_numbers(digits, (0,), (len(digits),)))


def is_phone(text: str, *, is_sure: bool = True) -> bool:
    """Whether the text of a field for phone numbers is one. Surely: written for abroad, and too
    short for a card; else with ``+`` or ``00`` of up to 15 digits, without of up to 13."""
    found = _IN_PHONE_FIELD.fullmatch(text) if len(text) <= _LONGEST_PHONE else None
    if found is None:
        return False
    is_abroad = found[1] is not None
    is_short = sum(map(str.isdecimal, text.removeprefix("00") if is_sure else text)) <= _SURE_PHONE
    return is_abroad and is_short if is_sure else is_abroad or is_short


def card_stands_in(text: str, *, for_phones: bool = False) -> bool:
    """Whether a card number stands in a text that can hardly be anything else, as a client sent it
    or decoded.

    It has 13 digits or more. No letter or digit stands beside it, as in ids and tokens, and no
    point after a digit before it. Single blanks or hyphens part its digits anywhere, other
    characters only as cards are printed. It is not a phone number: with ``+`` in front, at most 15
    digits are one, and in a field ``for_phones`` also without.
    """
    return any(_stands_in(reading, for_phones=for_phones) for reading in readings_of(text))


def _stands_in(text: str, *, for_phones: bool) -> bool:
    plain = plain_of(text)
    if not LIKE_A_CARD.search(plain) or (for_phones and is_phone(plain, is_sure=False)):
        return False
    if "+" in plain:
        plain = re.sub(rf"(?<![0-9A-Za-z]){_PHONE}", "x", plain)
    for found in CANDIDATE.finditer(plain):
        start, end = (0, 0) if found["id"] is not None else found.span()
        for _, groups in _groups_in(plain, start, end):
            if any(
                _is_reported(plain, begin, stop, digits)
                for begin, stop, digits in _parted(plain, groups)
            ):
                return True
    return False


def _is_reported(text: str, start: int, end: int, digits: int) -> bool:
    before, after = text[max(start - 2, 0) : start], text[end : end + 2]
    if digits < _SHORTEST_REPORTED or before[-1:].isalnum() or after[:1].isalnum():
        return False
    if before[-1:] == "." and before[:1].isdigit():
        return False
    gaps = set(_GROUP.split(text[start:end])[1:-1])
    if not all(set(gap) <= _REPORTED for gap in gaps):
        return False
    if gaps <= _PLAINLY_PARTED:
        return not (
            gaps and before[-1:] in gaps and _GROUP_OF_FOUR.search(text, max(start - 6, 0), start)
        )
    if after[:1] in PARTS and after[1:].isdigit():
        return False
    sizes = tuple(map(len, _GROUP.findall(text, start, end)))
    characters = {gap.strip() for gap in gaps}
    return sizes in _PRINTED and len(characters) == 1 and len(characters.pop()) <= 1
