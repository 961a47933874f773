"""The rows of the shop's books: what it believes about its orders, as claims.

Each row says what it is about (``KEYS``), and claims something of it: amounts, a state, or both.
Other members are let pass and not compared, since shops export their whole tables; but books of
which nothing is compared are refused, for they would agree with everything.

An amount is exact in the end, and may come as a binary fraction: 0.1 + 0.2 is read as 0.3.

Source: docs/books.md, The shop's books.
"""

from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from enum import StrEnum

from mockserver.domain.errors import nearest
from mockserver.domain.figures import OrderKey
from mockserver.domain.masking import mask_start
from mockserver.domain.money import CURRENCIES, MAX_INTEGER_DIGITS, Currency, number_text, places
from mockserver.domain.reading import number_of
from mockserver.domain.record import record

KEYS = ("charge", "subscription", "reference")
"""The names of what a row is about; the first that it has counts."""

AMOUNTS = ("paid", "refunded", "held")
"""The names of its amounts."""

CLAIMS = (*AMOUNTS, "state")
"""The names of what a row may claim."""

NAMES = (*KEYS, "currency", "payer", *CLAIMS)
"""The names of all members that are read."""

_DUST = Decimal("0.000001")
"""By how much an amount of binary fractions may miss one of money."""

_MOST_DIGITS = 3
"""Digits after the point of an amount whose currency is not known: no currency has more."""

_SHOWN = 40
_NAMED = 6
"""Characters of a text, and names of members, that a refusal repeats."""

_KINDS: Mapping[type, str] = {
    bool: "true or false",
    dict: "an object",
    list: "a list",
    type(None): "null",
}


class BadRow(ValueError):
    """A row is wrong: ``field`` is its member, ``line`` its place in a text, from 1, where there is
    one."""

    def __init__(self, field: str, words: str, line: int | None = None) -> None:
        self.field, self.words, self.line = field, words, line
        place = "" if line is None else f"line {line}: "
        super().__init__(f"{place}{field}: {words}")


Claim = StrEnum("Claim", "UNPAID ENDED TAKEN HELD PENDING REFUNDED UNKNOWN")
"""What the state of a row claims."""

STATES: Mapping[str, Claim] = {
    "unpaid": Claim.UNPAID,
    **dict.fromkeys(("cancelled", "canceled", "failed"), Claim.ENDED),
    **dict.fromkeys(("paid", "shipped"), Claim.TAKEN),
    **dict.fromkeys(("held", "authorised", "authorized"), Claim.HELD),
    "pending": Claim.PENDING,
    **dict.fromkeys(("refunded", "partially_refunded"), Claim.REFUNDED),
    "unknown": Claim.UNKNOWN,
}
"""The states of rows in lower case."""


@record
class ShopRow:
    """What the shop believes about one order. ``key`` is its kind and value; an amount is None
    where the shop says nothing of it. ``state`` is as the shop spells it, ``claim`` what that
    means, None where that is not known. ``payer`` is who shall have paid: a customer's id,
    reference or email."""

    key: OrderKey
    currency: str | None = None
    paid: Decimal | None = None
    refunded: Decimal | None = None
    held: Decimal | None = None
    state: str = ""
    claim: Claim | None = None
    payer: str = ""


def mapping_of(words: Iterable[str]) -> dict[str, str]:
    """States of the shop, in lower case, in known words, each given as ``processing=pending``.

    Raises ``ValueError`` for another form, and for a word that is not known, with the nearest one.
    """
    mapping = {}
    for word in words:
        own, equals, known = word.lower().partition("=")
        own, known = own.strip(), known.strip()
        if not equals or not own:
            raise ValueError(
                f"got '{word[:_SHOWN]}', wanted a state of the shop and its meaning: "
                "processing=pending"
            )
        if known not in STATES:
            raise ValueError(
                f"got '{known[:_SHOWN]}', allowed: {', '.join(STATES)}{nearest(known, STATES)}"
            )
        mapping[own] = known
    return mapping


def key_of(row: Mapping[str, object]) -> tuple[str, object] | None:
    """What a row is about: the kind and the value, as it is given; None where it does not say."""
    members = _members(row)
    for kind in KEYS:
        if kind in members:
            return kind, members[kind]
    return None


def _members(row: Mapping[str, object]) -> dict[str, object]:
    """The members of a row that say something, by their names in lower case: an empty cell of a
    table is how CSV writes null."""
    members = {str(name).lower(): value for name, value in row.items()}
    return {name: value for name, value in members.items() if value not in (None, "")}


def compared_of(row: Mapping[str, object]) -> dict[str, object]:
    """A row without the members that are not compared: a shop's table may hold what is nobody
    else's, and none of it is kept or shown."""
    return {name: value for name, value in row.items() if name.lower() in NAMES}


def read_row(row: object, mapped: Mapping[str, str] | None = None) -> ShopRow:
    """The claim of a row, without other members; ``mapped``: states of the shop (``mapping_of``).
    Raises ``BadRow``."""
    if not isinstance(row, Mapping):
        raise BadRow(
            "row",
            f'got {_kind(row)}, wanted an object such as {{"reference": "order-5", "paid": 20}}',
        )
    key, members = key_of(row), _members(row)
    if key is None:
        raise BadRow("reference", f"missing, wanted one of {', '.join(KEYS)}")
    kind, name = key
    # Many shops number their orders. True and false are numbers to Python, and name none.
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise BadRow(kind, f"got {_kind(name)}, wanted a text")
    currency = _currency(members.get("currency"))
    state = members.get("state", "")
    if not isinstance(state, str):
        raise BadRow("state", f"got {_kind(state)}, wanted a text such as paid")
    return ShopRow(
        key=OrderKey(kind, str(name)),
        currency=None if currency is None else currency.code,
        paid=_amount("paid", members.get("paid"), currency),
        refunded=_amount("refunded", members.get("refunded"), currency),
        held=_amount("held", members.get("held"), currency),
        state=state,
        claim=_claim(state, mapped or {}),
        payer=_payer(members.get("payer")),
    )


def _claim(state: str, mapped: Mapping[str, str]) -> Claim | None:
    """What a state claims, by a word that is known or by what the shop's own word stands for; None
    for any other, which claims nothing and is named in a warning."""
    folded = state.strip().lower()
    return STATES.get(mapped.get(folded, folded))


def _payer(value: object) -> str:
    """Who shall have paid; empty where it is no name: nobody is then held to have paid."""
    if isinstance(value, str | int):
        return str(value).strip()
    return ""


def check_claims(names: Iterable[str]) -> None:
    """Refuse books of whose members, all ``names``, none is compared: they would agree with
    everything. Rows that say no more than what they are about are orders that the shop knows.
    Raises ``BadRow``."""
    folded = dict.fromkeys(name.lower() for name in names)
    if not folded.keys().isdisjoint(CLAIMS):
        return
    others = [name for name in folded if name not in NAMES][:_NAMED]
    if not others:
        return
    # One of them may be a claim that is misspelt.
    hints = [nearest(name, CLAIMS) for name in others]
    first_hint = next((hint for hint in hints if hint), "")
    got = ", ".join(mask_start(name, _SHOWN) for name in others)
    raise BadRow("rows", f"got {got}; no row says {', '.join(AMOUNTS)} or state{first_hint}")


def _currency(value: object) -> Currency | None:
    """The currency of a row; None for the only one that its order has."""
    if value is None:
        return None
    hint = ""
    if isinstance(value, str):
        code = value.strip().upper()
        if code in CURRENCIES:
            return CURRENCIES[code]
        # A blank is near to nothing.
        hint = nearest(code, CURRENCIES) if code else ""
    raise BadRow("currency", f"got {_kind(value)}, wanted an ISO 4217 code such as AUD{hint}")


def _amount(field: str, value: object, currency: Currency | None) -> Decimal | None:
    """An amount from 0, without the dust of binary fractions: shops that add up floats print
    0.30000000000000004, and mean 0.3."""
    if value is None:
        return None
    # The text of a float is the shortest that means it; the float itself has 50 digits more.
    number = number_of(str(value) if isinstance(value, float) else value)
    if number is None:
        raise BadRow(field, f"got {_kind(value)}, wanted a number such as 12.50")
    if number < 0:
        raise BadRow(field, f"got {number_text(number)[:_SHOWN]}, wanted 0 or more")
    integer_digits = number.adjusted() + 1
    if integer_digits > MAX_INTEGER_DIGITS:
        raise BadRow(
            field, f"got {integer_digits} digits before the point, at most {MAX_INTEGER_DIGITS}"
        )
    digits = _MOST_DIGITS if currency is None else currency.digits
    rounded = number.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)
    if abs(rounded - number) > _DUST:
        raise _too_exact(field, number, currency)
    return rounded


def too_exact_for(row: ShopRow, code: str) -> BadRow | None:
    """The fault of a row that names no currency and means this one, where an amount has more digits
    than it; else None. ``code`` is the currency of its order, which is known only when rows and
    charges are compared. The fault is given back, so that all rows are told at once."""
    currency = CURRENCIES[code]
    for field in AMOUNTS:
        amount: Decimal | None = getattr(row, field)
        if amount is not None and places(amount) > currency.digits:
            return _too_exact(field, amount, currency)
    return None


def _too_exact(field: str, number: Decimal, currency: Currency | None) -> BadRow:
    """The fault of an amount that is more than dust beside the digits of its currency: to round it
    would hide a mistake of the shop."""
    got = f"got {number_text(number)[:_SHOWN]}"
    if currency is None:
        return BadRow(field, f"{got}, an amount has {_MOST_DIGITS} digits after the point")
    digits = currency.digits or "no"
    return BadRow(field, f"{got}, {currency.code} has {digits} digits after the point")


def _kind(value: object) -> str:
    """What a refusal says was got: a text as it is, of anything else what it is."""
    if isinstance(value, str):
        return f"'{value[:_SHOWN]}'"
    return _KINDS.get(type(value), "a number")
