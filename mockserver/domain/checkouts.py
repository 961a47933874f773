"""Checkouts: providers on whose own pages a payer approves a payment, such as PayPal, Zip or PayID.

Sources: docs/spec/published-facts.md, 3 (provider types, payment types); docs/spec/service.md, Limits
(``allowedPaymentTypes``).
"""

from __future__ import annotations

from collections.abc import Mapping

from mockserver.domain.record import record
from mockserver.domain.reference_data import read_table


@record
class Checkout:
    """A type of provider, the ``type`` of the payments that it takes, and its name as payers read it."""

    type: str
    payment_type: str
    name: str


CHECKOUTS: Mapping[str, Checkout] = {row.type: row for row in read_table("checkouts", Checkout)}
"""Every checkout by the type of its provider, in alphabetical order."""

_FOLDED = {name.replace("_", ""): row for name, row in CHECKOUTS.items()}


def checkout_named(word: str) -> Checkout | None:
    """The checkout that a word such as ``zip``, ``PAYBYACCOUNT`` or ``Pay by Account`` names, or None."""
    return _FOLDED.get("".join(mark for mark in word.lower() if mark.isalnum()))
