"""Which assumptions an answer shows in its words and digits: worked out when an entry of the journal is
read, at no cost to the request.

Source: the assumption table; what an operation asks while it runs is in its entry already.
"""

from __future__ import annotations

from collections.abc import Mapping

from mockserver.assumptions.table import (
    AUTHORISED_WORD,
    BANK_MASKING,
    CARD_DATA_ALIAS,
    CARD_IIN_DIGITS,
    CARD_MASKING,
    CUSTOMER_SUMMARY,
    NETWORK_TOKEN_DATE,
    VAULT_SECRETS,
)

_BY_FIELD: Mapping[str, tuple[str, ...]] = {
    "card": (CARD_MASKING.key, CARD_IIN_DIGITS.key),
    "cardData": (CARD_DATA_ALIAS.key,),
    "bankPayment": (BANK_MASKING.key,),
    "networkToken": (NETWORK_TOKEN_DATE.key,),
    "maskedCardNumber": (CARD_MASKING.key,),
}
"""Assumptions by the field of an answer that they shape, when it is not null."""

_AUTHORISED = ("Authorised", "AUTHORISE")


def assumptions_used(answer: object) -> set[str]:
    """Keys of the assumptions that the words and digits of an answer follow."""
    found: set[str] = set()
    if isinstance(answer, list):
        for item in answer:
            found |= assumptions_used(item)
    if not isinstance(answer, dict):
        return found
    for name, value in answer.items():
        if value is not None:
            found.update(_BY_FIELD.get(name, ()))
        if isinstance(value, dict | list):
            found |= assumptions_used(value)
    if answer.get("status") in _AUTHORISED:
        found.add(AUTHORISED_WORD.key)
    if "hasCvv" in answer and "ccv" in answer:
        found.add(VAULT_SECRETS.key)
    payer = answer.get("customer")
    if isinstance(payer, dict) and payer.get("customerId", "") is None:
        found.add(CUSTOMER_SUMMARY.key)
    return found
