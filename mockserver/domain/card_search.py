"""Where card numbers stand in a text: the one definition, by which they are masked and by which
findings are raised.

A card number begins and is as long as those of a scheme, and its check digit is right. Blanks,
hyphens, points, commas, quotes, line ends and the like may part its digits, which may be those of
any script. All that is like one is masked. A finding accuses a developer, so it is raised for less:
for what can hardly be anything else (``card_stands_in``).

A text is searched in three steps, each for what the one before has left:

1. ``LIKE_A_CARD`` says whether any twelve digits stand close enough together. Hardly a text has
   them, so nearly all are done after one search of an expression that cannot go back over itself:
   the time is linear, whatever a client sends.
2. ``CANDIDATE`` finds runs of digits with what parts them, and ids, which are left alone.
3. Within a run, groups of digits that follow one another are joined, and every number is tried that
   begins and ends where groups do. Sums that are made once (``_numbers``) tell of each whether its
   check digit is right, without adding its digits up again.

A number may hide: as a part of a longer run of digits, percent-encoded once or twice, in digits of
another script. Each of these has its function below. Positions hold throughout: a plain form of a
text has as many characters as the text.
"""

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TypeAlias
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
"""Digits beyond which a run is masked without a search in it."""

_USUAL_LENGTHS = (15, 16)
"""Digits of nearly every card. Any other length is found inside of longer runs by chance."""

_MOST_REMEMBERED = 5_000
_SHORTEST_REPORTED = 13
_PLAIN_GAPS = frozenset({" ", "-"})
_REPORTED_GAPS = frozenset(PARTS + BREAKS)
_GROUP_OF_FOUR = re.compile(r"(?<![0-9A-Za-z])(?=[A-Z]*[0-9])[0-9A-Z]{4}[ -]\Z")
"""Before a number it is part of a longer one: of an IBAN, or of a parcel."""

_PRINTED_GROUPS = frozenset(
    {(4, 4, 4, 4), (4, 4, 4, 4, 1), (4, 4, 4, 4, 2), (4, 4, 4, 4, 3), (4, 6, 5), (4, 6, 4)}
)
"""Sizes of the groups in which cards show their digits."""

_MOST_DECODED = 2
_PHONE = r"\+ ?[1-9](?:[ ().-]{0,2}+[0-9]){6,14}+(?![ ().-]{0,2}+[0-9])"
"""An international phone number (E.164): no card number of 16 digits."""

_IN_PHONE_FIELD = re.compile(
    r"\s*(?:(?P<abroad>\+|00(?:11)?|01[01])[ ()./-]{0,2})?[1-9](?:[ ()./-]{0,2}+[0-9]){4,14}\s*"
)
_LONGEST_PHONE = 40
_SURE_PHONE = 13
"""Digits up to which no card is issued nowadays that a phone number could be taken for."""


Span: TypeAlias = tuple[int, int]
"""Where a part of a text begins and ends, the end not in it, as ``re.Match.span`` says. A class of
its own made the search of texts that are full of numbers a third slower."""


@lru_cache(maxsize=_MOST_REMEMBERED)
def _plain(char: str) -> str:
    """A digit of any script and form as 0 to 9, what separates or joins characters as a blank:
    people read such a number, and programs copy it. It stays one character, so that positions
    hold."""
    digit = unicodedata.digit(char, None)
    if digit is not None:
        return str(digit)
    if unicodedata.category(char) in _PARTING or char in "·•\u2212\x85":
        return char if char.isascii() else " "
    simple = unicodedata.normalize("NFKC", char)
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


def cards_in(text: str, start: int, end: int) -> Iterator[Span]:
    """Where the card numbers of a candidate stand: numbers that overlap are one, and a run of more
    digits than any card number has is one throughout when one may be in it."""
    for groups, long_run in _groups_in(text, start, end):
        numbers = [span for span, _ in _numbers_of(text, groups)]
        numbers += [group for group in groups if _is_glued(text, group)]
        yield from _joined(numbers)
        if long_run is not None and _hides_number(text[slice(*long_run)]):
            yield long_run


def _joined(spans: Iterable[Span]) -> list[Span]:
    """Spans in the order of the text, those that overlap as one."""
    joined = list[Span]()
    for start, stop in sorted(spans):
        if joined and start < joined[-1][1]:
            first, last = joined.pop()
            joined.append((first, max(last, stop)))
        else:
            joined.append((start, stop))
    return joined


def _groups_in(text: str, start: int, end: int) -> Iterator[tuple[Sequence[Span], Span | None]]:
    """The digits of a candidate: groups that follow one another, none longer than a card number,
    and the longer run behind them, which ends them; None behind the last."""
    groups = list[Span]()
    for match in _GROUP.finditer(text, start, end):
        if len(match[0]) <= MAX_LENGTH:
            groups.append(match.span())
        else:
            yield groups, match.span()
            groups = []
    yield groups, None


def _numbers_of(text: str, groups: Sequence[Span]) -> Iterator[tuple[Span, int]]:
    """Where the card numbers stand that whole groups of digits make, and how many digits each
    has."""
    digits = "".join([text[start:stop] for start, stop in groups])
    # Where each group begins and ends in the text, by how many digits stand before that.
    starts, stops, count = dict[int, int](), dict[int, int](), 0
    for start, stop in groups:
        starts[count] = start
        count += stop - start
        stops[count] = stop
    for begin, end in _numbers(digits, starts, stops):
        yield (starts[begin], stops[end]), end - begin


def _numbers(digits: str, begins: Iterable[int], ends: Container[int]) -> Iterator[Span]:
    """Where card numbers stand in a text of digits alone, of those that begin and end at some
    places.

    From the last digit backwards, every second digit counts double; the sum of a card number is a
    multiple of 10. So digits at odd places are doubled in a number that ends at an odd place
    (``end`` is the place behind it), else those at even ones. Both sums of all digits before each
    place are made once: that of any part is their difference.
    """
    if len(digits) < MIN_LENGTH:
        return
    values = [ord(digit) - 48 for digit in digits]
    odd_doubled, even_doubled = values.copy(), values.copy()
    odd_doubled[1::2] = [DOUBLED[value] for value in values[1::2]]
    even_doubled[::2] = [DOUBLED[value] for value in values[::2]]
    odd_sums = list(accumulate(odd_doubled, initial=0))
    even_sums = list(accumulate(even_doubled, initial=0))
    for begin in begins:
        for length in lengths_of(digits[begin : begin + 4]):
            end = begin + length
            if end not in ends:
                continue
            sums = odd_sums if end % 2 else even_sums
            if (sums[end] - sums[begin]) % 10 == 0:
                yield begin, end


def _hides_number(digits: str) -> bool:
    """Whether a run of digits that is longer than any card number begins or ends with one, or has
    one of the usual length anywhere."""
    if len(digits) > _LONGEST_ID:
        return True
    places = range(len(digits) + 1)
    for begin, end in _numbers(digits, places, places):
        is_at_an_end = begin == 0 or end == len(digits)
        if is_at_an_end or end - begin in _USUAL_LENGTHS:
            return True
    return False


def _is_glued(text: str, group: Span) -> bool:
    """Whether a group of digits that is too long for most cards begins or ends with a number of the
    usual length. One whose first digit is percent-encoded is found once it is decoded."""
    start, stop = group
    if stop - start <= _USUAL_LENGTHS[-1]:
        return False
    if start and _ENCODED_DIGIT.match(text, start - 1):
        return False
    digits = text[start:stop]
    return any(is_card(digits[:length]) or is_card(digits[-length:]) for length in _USUAL_LENGTHS)


def is_card(digits: str) -> bool:
    """Whether some digits are a card number as a whole."""
    return any(_numbers(digits, (0,), (len(digits),)))


def is_surely_phone(text: str) -> bool:
    """Whether the text of a field for phone numbers is one that may be shown: written for abroad,
    and with too few digits for a card."""
    match = _phone_match(text)
    if match is None or match["abroad"] is None:
        return False
    return _digit_count(text.removeprefix("00")) <= _SURE_PHONE


def _may_be_phone(text: str) -> bool:
    """Whether the text of a field for phone numbers can be one, so that no finding may blame it:
    with ``+`` or ``00`` of up to 15 digits, without of up to 13."""
    match = _phone_match(text)
    if match is None:
        return False
    return match["abroad"] is not None or _digit_count(text) <= _SURE_PHONE


def _phone_match(text: str) -> re.Match[str] | None:
    """A whole text as a phone number, None when it is none; an overlong one is not looked at."""
    return _IN_PHONE_FIELD.fullmatch(text) if len(text) <= _LONGEST_PHONE else None


def _digit_count(text: str) -> int:
    """How many digits a text has: a phone number is told from a card's by that."""
    return sum(map(str.isdecimal, text))


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
    """``card_stands_in`` of a text as it is written."""
    plain = plain_of(text)
    if not LIKE_A_CARD.search(plain) or (for_phones and _may_be_phone(plain)):
        return False
    if "+" in plain:
        # A phone number becomes a letter, so that what follows it is no part of it.
        plain = re.sub(rf"(?<![0-9A-Za-z]){_PHONE}", "x", plain)
    for candidate in CANDIDATE.finditer(plain):
        if candidate["id"] is not None:
            continue
        for groups, _ in _groups_in(plain, *candidate.span()):
            for number, digits in _numbers_of(plain, groups):
                if digits >= _SHORTEST_REPORTED and _stands_alone(plain, number):
                    return True
    return False


def _stands_alone(text: str, number: Span) -> bool:
    """Whether a number that passes as a card's can hardly be anything else, by what stands beside
    it and what parts its digits."""
    start, stop = number
    before, after = text[max(start - 2, 0) : start], text[stop : stop + 2]
    # Part of a word, such as an id or a token.
    if before[-1:].isalnum() or after[:1].isalnum():
        return False
    # The digits after the point of a number.
    if before[-1:] == "." and before[:1].isdigit():
        return False
    gaps = set(_GROUP.split(text[start:stop])[1:-1])
    if not all(set(gap) <= _REPORTED_GAPS for gap in gaps):
        return False
    if gaps <= _PLAIN_GAPS:
        # Parted as a group of four before it is, it goes on from there: an IBAN, or a parcel's.
        goes_on = bool(gaps) and before[-1:] in gaps
        return not (goes_on and _GROUP_OF_FOUR.search(text, max(start - 6, 0), start))
    # Other gaps, such as points and line ends, are found between any numbers. The groups must be
    # those of a card, all parted in the same way, and more digits must not follow.
    if after[:1] in PARTS and after[1:].isdigit():
        return False
    sizes = tuple(map(len, _GROUP.findall(text, start, stop)))
    marks = {gap.strip() for gap in gaps}
    return sizes in _PRINTED_GROUPS and len(marks) == 1 and len(marks.pop()) <= 1
