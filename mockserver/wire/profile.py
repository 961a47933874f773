"""What differs from profile to profile: how requests are read, the words and digits of the
answers.

The service and its white labels spell some things differently, and its document leaves others open.
Each such question is an assumption, answered for each sandbox. Asked by name in every answer they
would cost time, so a ``WireProfile`` has the answers as attributes, made once for each set of
assumptions. The journal shows which of them an answer followed (``assumptions_used``): a test that
relies on one should know it.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import attrgetter

from mockserver.assumptions import Assumed
from mockserver.domain.cards import CardNumber
from mockserver.domain.states import ChargeState

_AUTHORISED_WORDS = ("Authorised", "AUTHORISE")
_AUTHORISED = rf"\b{ChargeState.AUTHORISED.value}\b"


def _first6_last4(number: CardNumber) -> str:
    """``411111******1111``; of a number so short that this were all of it, the first four."""
    first = number.iin if len(number.masked) > 10 else number.masked[:6]
    return first + number.masked[6:]


def _last4(number: CardNumber) -> str:
    return "*" * (len(number.masked) - 4) + number.last4


_MASKED: Mapping[str, Callable[[CardNumber], str]] = {
    "first4_last4": attrgetter("masked"),
    "first6_last4": _first6_last4,
    "last4": _last4,
}


class WireProfile:
    """The wire forms that the assumptions of a sandbox settle, worked out once; ``masked`` shows a
    card number (assumption ``card.masking``)."""

    def __init__(self, assumed: Assumed) -> None:
        self.created_status = assumed["response.created_status"]
        self.json_depth = assumed["request.json_depth"]
        self.reads_commas = assumed["request.decimal_comma"] == "read"
        self.blank_query: str = assumed["request.blank_query"]
        self.raw_plus: str = assumed["request.raw_plus"]
        self.refuses_unknown = assumed["request.unknown_fields"] == "refuse"
        self.iin_digits = assumed["card.iin_digits"]
        self.card_data = assumed["charge.card_data"] == "yes"
        self.network_token_date = assumed["network_token.date_added"] == "shown"
        self.masked: Callable[[CardNumber], str] = _MASKED[assumed["card.masking"]]
        self.shows_account = assumed["bank_account.masking"] == "none"
        self.shows_payer = assumed["charge.customer_summary"] == "shown"
        self.shows_secrets = assumed["vault.get_shows"] == "number_and_ccv"
        self.status: dict[str, str] = {state: state.value for state in ChargeState}
        self.status[ChargeState.AUTHORISED] = assumed["charge.status.authorised"]

    def word(self, state: str) -> str:
        """The state of any object as the API spells it."""
        return self.status.get(state, str(state))

    def sentence(self, text: str) -> str:
        """A sentence that names states of charges, in the words of the API."""
        return re.sub(_AUTHORISED, self.status[ChargeState.AUTHORISED], text)

    def account(self, number: str) -> str:
        """A bank account number as it is shown (assumption ``bank_account.masking``)."""
        return number if self.shows_account else "*" * (len(number) - 4) + number[-4:]


profile_of = lru_cache(maxsize=32)(WireProfile)
"""The wire profile of a set of assumptions."""


_BY_FIELD: Mapping[str, tuple[str, ...]] = {
    "card": ("card.masking", "card.iin_digits"),
    "cardData": ("charge.card_data",),
    "bankPayment": ("bank_account.masking",),
    "networkToken": ("network_token.date_added",),
    "maskedCardNumber": ("card.masking",),
}
"""Assumptions by the field of an answer that they shape, when it is not null."""


def assumptions_used(answer: object) -> set[str]:
    """Keys of the assumptions that the words and digits of an answer follow: worked out when an
    entry of the journal is read. What an operation asks while it runs is in its entry already."""
    if isinstance(answer, list):
        return set().union(*map(assumptions_used, answer))
    found: set[str] = set()
    if not isinstance(answer, dict):
        return found
    for name, value in answer.items():
        if value is not None:
            found |= {*_BY_FIELD.get(name, ()), *assumptions_used(value)}
    # Only an authorised charge, a vault item and a payer without a customer show these.
    if answer.get("status") in _AUTHORISED_WORDS:
        found.add("charge.status.authorised")
    if "hasCvv" in answer and "ccv" in answer:
        found.add("vault.get_shows")
    payer = answer.get("customer")
    if isinstance(payer, dict) and payer.get("customerId", "") is None:
        found.add("charge.customer_summary")
    return found
