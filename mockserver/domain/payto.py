"""A PayTo agreement: a payer's standing permission to take up to a maximum from a bank account.

The payer gives it at the own bank and may take it back there, so it stands in a state of its own
beside the payment method that it belongs to, and is asked before each charge (``check_charge``).

Source: docs/spec/service.md, NewPayToAgreement, and Payment method, payTo; settled fact
``payto.status``.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from mockserver.domain.clock import Micros
from mockserver.domain.codes import Code
from mockserver.domain.constraints import Within
from mockserver.domain.errors import Faults
from mockserver.domain.money import number_text
from mockserver.domain.provider import ProviderSummary
from mockserver.domain.record import record, replace
from mockserver.domain.states import PAYTO, PayToEvent, PayToState

LEAST_MAXIMUM, MOST_MAXIMUM = 1, 9999
"""Bounds of ``maximumAmount`` (service document, Limits)."""


@record
class PayIdDetails:
    """The payer's PayID as given; ``pay_id_type`` is a free text, such as EMAIL."""

    pay_id: str | None = None
    pay_id_type: str | None = None


@record
class Agreement:
    """An agreement as stored. ``maximum_amount`` is in whole units of the currency."""

    payto_id: str
    provider: ProviderSummary
    payer_name: str
    description: str
    maximum_amount: Annotated[int, Within(LEAST_MAXIMUM, MOST_MAXIMUM)]
    added: Micros
    pay_id: PayIdDetails | None = None
    status: PayToState = PayToState.PENDING
    seq: int = -1

    def after(self, event: PayToEvent) -> Agreement:
        """Moved by the state table, as the payer or the bank has acted. Raises ``WrongState``
        (33)."""
        return replace(self, status=PAYTO.advance(self.status, event))


def check_charge(agreement: Agreement, amount: Decimal, faults: Faults) -> None:
    """Faults of charging an agreement: 33 (not active), 24 (above its maximum)."""
    if agreement.status is not PayToState.ACTIVE:
        words = f"got an agreement in {agreement.status.value}, wanted {PayToState.ACTIVE.value}"
        faults.add(Code.PAYTO_AGREEMENT_IS_NOT_ACTIVE, "PayToStatus", words)
    if amount > agreement.maximum_amount:
        words = f"got {number_text(amount)}, the payer agreed to at most {agreement.maximum_amount}"
        faults.add(Code.AMOUNT_EXCEEDS_MAX_AMOUNT_FOR_PAYTO_AGREEMENT, "Amount", words)
