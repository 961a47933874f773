"""Card numbers: the check digit, the brand, the mask, and the published test numbers.

A full number enters here and leaves as a ``Card``, which cannot give it back: only the vault keeps numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b

from mockserver.domain.ids import digest
from mockserver.domain.record import record


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


_ANY = (12, 13, 14, 15, 16, 17, 18, 19)
_LONG = (16, 17, 18, 19)

# Ranges of leading digits and the lengths of their numbers, as the schemes publish them (ISO/IEC 7812); the first row
# that holds a number names it. Schemes that are not distinguished here follow as unknown ones.
_RANGES: tuple[tuple[int, int, Brand, tuple[int, ...]], ...] = (
    (4, 4, Brand.VISA, (13, 16, 18, 19)),
    (51, 55, Brand.MASTERCARD, (16,)),
    (2221, 2720, Brand.MASTERCARD, (16,)),
    (34, 34, Brand.AMEX, (15,)),
    (37, 37, Brand.AMEX, (15,)),
    (3528, 3589, Brand.JCB, _LONG),
    (300, 305, Brand.DINERS, (14, *_LONG)),
    (3095, 3095, Brand.DINERS, (14, *_LONG)),
    (36, 36, Brand.DINERS, (14, *_LONG)),
    (38, 39, Brand.DINERS, (14, *_LONG)),
    (6011, 6011, Brand.DISCOVER, _LONG),
    (644, 649, Brand.DISCOVER, _LONG),
    (65, 65, Brand.DISCOVER, _LONG),
    (62, 62, Brand.UNIONPAY, _LONG),
    (50, 50, Brand.MAESTRO, _ANY),
    (56, 58, Brand.MAESTRO, _ANY),
    (63, 63, Brand.MAESTRO, _ANY),
    (67, 67, Brand.MAESTRO, _ANY),
    (6, 6, Brand.UNKNOWN, _ANY),  # RuPay, Elo, Verve, InstaPayment, Hipercard, Cabal, further Maestro
    (1800, 1800, Brand.UNKNOWN, (15,)),  # JCB
    (2131, 2131, Brand.UNKNOWN, (15,)),  # JCB
    (2200, 2205, Brand.UNKNOWN, _LONG),  # Mir, Borica
    (81, 82, Brand.UNKNOWN, _LONG),  # UnionPay, RuPay
    (8600, 8600, Brand.UNKNOWN, (16,)),  # Uzcard
    (9704, 9704, Brand.UNKNOWN, (16, 19)),  # Napas
    (9792, 9792, Brand.UNKNOWN, (16,)),  # Troy
    (9860, 9860, Brand.UNKNOWN, (16,)),  # Humo
)

TEST_CARDS: dict[str, str] = {
    "visa": "4111111111111111",
    "visa_2": "4242424242424242",
    "mastercard": "5555555555554444",
    "amex": "378282246310005",
    "discover": "6011111111111117",
    "jcb": "3530111333300000",
    "diners": "30569309025904",
    "do_not_honour": "4000000000000002",
    "insufficient_funds": "4000000000009995",
    "lost_card": "4000000000009987",
    "stolen_card": "4000000000009979",
    "expired_card": "4000000000000069",
    "wrong_ccv": "4000000000000127",
    "processing_error": "4000000000000119",
    "over_frequency_limit": "4000000000006975",
    "blocked_by_fraud_rules": "4100000000000019",
    "declined_after_storing": "4000000000000341",
    "three_ds_challenge": "4000000000003220",
    "invalid_number": "4000000000000000",
}
"""Published test numbers by the name that a rule's ``card.test`` uses (test values)."""

_TEST_NAMES: dict[str, str] = {number: name for name, number in TEST_CARDS.items()}

TEST_NUMBERS = frozenset(_TEST_NAMES)
"""They are published: no secret."""

PREFIX_LENGTHS = (4, 6, 8)
"""Lengths of the leading digits that a search may give (assumption ``charge.search_card_number``)."""

MIN_LENGTH, MAX_LENGTH = 12, 19

_FUNDINGS = tuple(Funding)
DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
"""What every other digit counts for in the sum that proves the check digit (ISO/IEC 7812-1, annex B)."""

_SEPARATORS = str.maketrans("", "", " -")
_DIGITS = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class CardNumber:
    """What may be remembered of a card number: enough to show it, search it and match rules, not to charge it."""

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
    """A card on a charge, a payment method or a token: number facts, expiry, holder. Never a full number or a ccv."""

    number: CardNumber
    expiry: str | None
    cardholder: str | None
    ccv_given: bool = False
    three_ds_server_trans_id: str | None = None


def clean(number: str) -> str | None:
    """The digits of a card number without spaces and hyphens, or None when there is anything else in it."""
    if _DIGITS.fullmatch(number):
        return number
    bare = number.translate(_SEPARATORS)
    return bare if _DIGITS.fullmatch(bare) else None


def passes_luhn(number: str) -> bool:
    """Whether the check digit is right (ISO/IEC 7812-1, annex B)."""
    digits = number.encode()
    odd = digits[-1::-2]
    even = digits[-2::-2]
    return (sum(odd) - 48 * len(odd) + sum(DOUBLED[digit - 48] for digit in even)) % 10 == 0


def brand_of(number: str) -> Brand:
    """The scheme whose published range holds the leading digits."""
    return _range_of(number)[0]


@lru_cache(maxsize=10_000)
def lengths_of(head: str) -> tuple[int, ...]:
    """How many digits the numbers have that begin with these four; none when no scheme has such numbers."""
    return _range_of(head)[1]


def _range_of(number: str) -> tuple[Brand, tuple[int, ...]]:
    for low, high, brand, lengths in _RANGES:
        head = number[: len(str(low))]
        if low <= int(head or 0) <= high:
            return brand, lengths
    return Brand.UNKNOWN, ()


def ccv_length(brand: Brand) -> tuple[int, int]:
    """Allowed lengths of the card verification value (assumption ``card.required``)."""
    return (4, 4) if brand is Brand.AMEX else (3, 4)


def prefix_digest(salt: str, prefix: str) -> str:
    """The key under which cards that begin with ``prefix`` are found again."""
    return digest("prefix", salt, prefix, size=8).hex()


def fingerprint_of(salt: str, number: str) -> str:
    """The key by which a card is known again within a sandbox, and only there."""
    return blake2b(number.encode(), key=salt.encode(), digest_size=16).hexdigest()


def read_number(number: str, salt: str) -> CardNumber:
    """The facts of a clean, valid number. ``salt`` keeps digests of one sandbox apart from every other's."""
    test_name = _TEST_NAMES.get(number)
    funding = Funding.CREDIT if test_name else _FUNDINGS[digest("funding", number[:8], size=1)[0] % len(_FUNDINGS)]
    return CardNumber(
        masked=mask(number),
        iin=number[:6],
        brand=brand_of(number),
        funding=funding,
        fingerprint=fingerprint_of(salt, number),
        prefixes=tuple(prefix_digest(salt, number[:length]) for length in PREFIX_LENGTHS),
        test_name=test_name,
    )


def mask(number: str) -> str:
    """First four, stars, last four (assumption ``card.masking``)."""
    return number[:4] + "*" * (len(number) - 8) + number[-4:]
