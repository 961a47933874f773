"""A transfer: part of a charge, or of a provider's balance, moved to another account.

Source: docs/spec/published-facts.md, 1.2, 2.14, 3.1 (codes 60, 61, 67-70, 88); assumption
``transfer.settles_after``.
"""

from __future__ import annotations

from mockserver.domain.clock import Micros
from mockserver.domain.constraints import Amount, ChargeId, CurrencyCode, ProviderId
from mockserver.domain.record import record, replace
from mockserver.domain.states import TRANSFER, TransferEvent, TransferState


@record
class Transfer:
    """One transfer of a group as stored; ``total`` is the sum of its group."""

    transfer_id: str
    group_reference: str | None
    provider_id: ProviderId
    charge_id: ChargeId | None
    account: str
    amount: Amount
    total: Amount
    currency: CurrencyCode
    reference: str | None
    message: str | None
    status: TransferState
    added: Micros
    seq: int = -1

    def after_settlement(self) -> Transfer:
        """The money has arrived. Raises ``WrongState`` (88)."""
        return replace(self, status=TRANSFER.advance(self.status, TransferEvent.SETTLED))
