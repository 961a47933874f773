"""Card numbers: the check digit, the brand, the mask, and the published test numbers.

A full number enters here and leaves as a ``Card``, which cannot give it back: only the vault keeps
numbers.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from mockserver.domain.ids import digest
from mockserver.domain.record import read_table, record


class Brand(StrEnum):
    """Card scheme, in the form of the ``type`` field of a card (published facts, 3: ``VISA``)."""

    VISA = "VISA"
    MASTERCARD = "MASTERCARD"
    AMEX = "AMEX"
    DISCOVER = "DISCOVER"
    JCB = "JCB"
    DINERS = "DINERS"
    UNIONPAY = "UNIONPAY"
    MAESTRO = "MAESTRO"
    UNKNOWN = "UNKNOWN"


class Funding(StrEnum):
    """How a card is funded, in the form of the ``cardType`` field."""

    CREDIT = "CREDIT"
    DEBIT = "DEBIT"
    PREPAID = "PREPAID"


class _Range(NamedTuple):
    """Numbers whose leading digits are ``low`` to ``high``, and how many digits they have."""

    low: int
    high: int
    brand: Brand
    lengths: tuple[int, ...]


def _range(low: str, high: str, brand: str, lengths: str, also: str) -> _Range:
    return _Range(int(low), int(high), Brand(brand), tuple(map(int, lengths.split())))


_RANGES = read_table("card_ranges", _range)
"""Ranges of leading digits and the lengths of their numbers, as the schemes publish them (ISO/IEC
7812); the first row that holds a number names it. Schemes that are not distinguished here (column
``also``) follow as unknown ones."""

TEST_CARDS: dict[str, str] = {
    row["name"]: row["number"] for row in read_table("test_cards", dict[str, str])
}
"""Published test numbers by the name that a rule's ``card.test`` uses (test values)."""

_TEST_NAMES: dict[str, str] = {number: name for name, number in TEST_CARDS.items()}

TEST_NUMBERS = frozenset(_TEST_NAMES)
"""They are published: no secret."""

PREFIX_LENGTHS = (4, 6, 8)
"""Lengths of the leading digits that a search may give (settled fact
``charge.search_card_number``)."""

MIN_LENGTH, MAX_LENGTH = 12, 19

_FUNDINGS = tuple(Funding)
DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
"""The weight of every second digit in the sum that proves the check digit (ISO/IEC 7812-1, annex
B)."""

_SEPARATORS = str.maketrans("", "", " -")


@record
class CardNumber:
    """What may be remembered of a card number: enough to show it, search it and match rules, not to
    charge it."""

    masked: str
    iin: str
    brand: Brand
    funding: Funding
    fingerprint: str
    prefixes: tuple[str, ...]
    test_name: str | None

    @property
    def last4(self) -> str:
        """The last four digits."""
        return self.masked[-4:]


@record
class Card:
    """A card on a charge, a payment method or a token: number facts, expiry, holder. Never a full
    number or a ccv."""

    number: CardNumber
    expiry: str | None
    cardholder: str | None
    ccv_given: bool = False
    three_ds_server_trans_id: str | None = None


def clean(number: str) -> str | None:
    """The digits of a card number without spaces and hyphens, or None when there is anything else
    in it."""
    bare = number if number.isdigit() else number.translate(_SEPARATORS)
    return bare if bare.isdigit() and bare.isascii() else None


def passes_luhn(number: str) -> bool:
    """Whether the check digit is correct (ISO/IEC 7812-1, annex B): from the last digit backwards,
    every second counts double, and the sum is a multiple of 10."""
    digits = [byte - ord("0") for byte in number.encode()]
    single = sum(digits[-1::-2])
    double = sum(DOUBLED[digit] for digit in digits[-2::-2])
    return (single + double) % 10 == 0


def brand_of(number: str) -> Brand:
    """The scheme whose published range holds the leading digits."""
    row = _range_of(number)
    return Brand.UNKNOWN if row is None else row.brand


@lru_cache(maxsize=10_000)
def lengths_of(head: str) -> tuple[int, ...]:
    """How many digits the numbers have that begin with these four; none when no scheme has such
    numbers."""
    row = _range_of(head)
    return () if row is None else row.lengths


def _range_of(number: str) -> _Range | None:
    """The first range that holds the leading digits: each looks at as many as its bounds have."""
    for row in _RANGES:
        head = number[: len(str(row.low))]
        # A text without digits counts as 0, and no scheme begins so.
        if row.low <= int(head or 0) <= row.high:
            return row
    return None


CCV_LENGTHS: Mapping[Brand | None, tuple[int, int]] = {
    **dict.fromkeys((None, *Brand), (3, 4)),
    Brand.AMEX: (4, 4),
}
"""The least and the most digits of a card verification value (assumption ``card.ccv``); under
None while the brand is not known."""


def prefix_digest(salt: str, prefix: str) -> str:
    """The key that finds the cards that begin with ``prefix``."""
    return digest("prefix", salt, prefix, size=8).hex()


def fingerprint_of(salt: str, number: str) -> str:
    """The key that recognises a card within one sandbox, and only there: with a salt for all, a
    digest of a number could be looked up in a list of all numbers' digests."""
    return blake2b(number.encode(), key=salt.encode(), digest_size=16).hexdigest()


def read_number(number: str, salt: str) -> CardNumber:
    """The facts of a clean, valid number. ``salt`` keeps digests of one sandbox apart from every
    other's."""
    test_name = _TEST_NAMES.get(number)
    funding = Funding.CREDIT if test_name else _drawn_funding(number[:8])
    return CardNumber(
        masked=mask(number),
        iin=number[:6],
        brand=brand_of(number),
        funding=funding,
        fingerprint=fingerprint_of(salt, number),
        prefixes=tuple(prefix_digest(salt, number[:length]) for length in PREFIX_LENGTHS),
        test_name=test_name,
    )


def _drawn_funding(issuer_digits: str) -> Funding:
    """How a card is funded that is no test card: drawn by the digits of its issuer, as all cards
    that an issuer numbers alike are funded alike."""
    return _FUNDINGS[digest("funding", issuer_digits, size=1)[0] % len(_FUNDINGS)]


def mask(number: str) -> str:
    """First four, stars, last four (assumption ``card.masking``)."""
    return number[:4] + "*" * (len(number) - 8) + number[-4:]
