"""THE LAW: the states and events of every kind of object, and the tables of its legal moves.

``states.md`` has the moves, as diagrams. What they do not show is refused by ``TransitionTable.advance``, the only way
to change a state, before anything else changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from mockserver.domain.codes import Code
from mockserver.domain.delivery import DELIVERY
from mockserver.domain.law import TransitionTable, law


class ChargeState(StrEnum):
    """Status of a charge, in the published words (the document's ``Authorised`` is a matter of the wire)."""

    PENDING_CHECKOUT = "PENDING_CHECKOUT"
    PENDING = "PENDING"
    AUTHORISED = "AUTHORISE"
    SUCCESS = "SUCCESS"
    PARTIAL_REFUND = "PARTIAL_REFUND"
    REFUND = "REFUND"
    AUTHORISE_CANCELLED = "AUTHORISE_CANCELLED"
    FAILED = "FAILED"

    @classmethod
    def other_words(cls) -> dict[str, ChargeState]:
        """Spellings besides the values, in lower case (assumptions ``charge.status.authorised``,
        ``charge.status_filter``)."""
        return {"authorised": cls.AUTHORISED}


CHARGE_STATE_BY_WORD: Mapping[str, ChargeState] = {
    **{state.value.lower(): state for state in ChargeState},
    **ChargeState.other_words(),
}
"""Charge states by every accepted spelling, in lower case (assumption ``charge.status_filter``)."""


class ChargeEvent(StrEnum):
    """What can happen to a charge."""

    AUTHORISED = "authorised"
    PAID = "paid"
    PENDING = "pending"
    CHALLENGED = "challenged"
    DECLINED = "declined"
    CAPTURED = "captured"
    VOIDED = "voided"
    EXPIRED = "expired"
    SETTLED = "settled"
    RETURNED = "returned"
    ABANDONED = "abandoned"
    PARTLY_REFUNDED = "partly_refunded"
    FULLY_REFUNDED = "fully_refunded"
    REFUND_FAILED = "refund_failed"
    LAST_REFUND_FAILED = "last_refund_failed"


class VaultState(StrEnum):
    """Whether a vault item still answers."""

    STORED = "stored"
    EXPIRED = "expired"
    DELETED = "deleted"


class VaultEvent(StrEnum):
    """What can happen to a vault item."""

    EXPIRED = "expired"
    DELETED = "deleted"


class CcvState(StrEnum):
    """What became of the card verification value of a vault item."""

    ABSENT = "absent"
    HELD = "held"
    SPENT = "spent"
    EXPIRED = "expired"


class CcvEvent(StrEnum):
    """What removes a ccv: the first payment for the card, the short delay, or the end of its vault item."""

    PAID = "paid"
    DELAY_PASSED = "delay_passed"
    ITEM_GONE = "item_gone"


class Presence(StrEnum):
    """Whether a customer, a payment method, a provider or a webhook subscription is in use."""

    ACTIVE = "active"
    REMOVED = "removed"


class PresenceEvent(StrEnum):
    """What can happen to its presence."""

    REMOVED = "removed"


class SubscriptionState(StrEnum):
    """Status of a subscription; the order gives the index (published facts, 3)."""

    COMPLETE = "Complete"
    ACTIVE = "Active"
    CANCELLED = "Cancelled"
    SUSPENDED = "Suspended"


class SubscriptionEvent(StrEnum):
    """What can happen to a subscription."""

    CREATED = "created"
    UPDATED = "updated"
    SUSPENDED = "suspended"
    RESUMED = "resumed"
    CANCELLED = "cancelled"
    COMPLETED = "completed"


class TransferState(StrEnum):
    """Status of a transfer."""

    PENDING = "PENDING"
    SUCCESS = "SUCCESS"


class TransferEvent(StrEnum):
    """What can happen to a transfer."""

    ORDERED = "ordered"
    SETTLED = "settled"


class TokenState(StrEnum):
    """Whether a payment token can still be used."""

    ACTIVE = "ACTIVE"
    USED = "USED"
    EXPIRED = "EXPIRED"


class TokenEvent(StrEnum):
    """What can happen to a payment token: a use that leaves some, the last use, the end of its time."""

    USED = "used"
    USED_UP = "used_up"
    EXPIRED = "expired"


class PayToState(StrEnum):
    """Status of a PayTo agreement."""

    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    DECLINED = "DECLINED"
    EXPIRED = "EXPIRED"
    CANCELLED = "CANCELLED"


class PayToEvent(StrEnum):
    """What can happen to a PayTo agreement."""

    AGREED = "agreed"
    SUSPENDED = "suspended"
    DECLINED = "declined"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class NetworkTokenState(StrEnum):
    """Status of a network token."""

    ACTIVE = "ACTIVE"
    INACTIVE = "INACTIVE"
    SUSPENDED = "SUSPENDED"
    DELETED = "DELETED"


class NetworkTokenEvent(StrEnum):
    """What can happen to a network token."""

    ACTIVATED = "activated"
    DEACTIVATED = "deactivated"
    SUSPENDED = "suspended"
    DELETED = "deleted"


class BatchState(StrEnum):
    """Status of a batch and of each of its rows, in the documented words."""

    RECEIVED = "RECEIVED"
    CREATED = "CREATED"
    IN_PROGRESS = "IN_PROGRESS"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


class BatchEvent(StrEnum):
    """What can happen to a batch."""

    PREPARED = "prepared"
    STARTED = "started"
    FINISHED = "finished"
    BROKE_DOWN = "broke_down"


class BatchRowEvent(StrEnum):
    """What can happen to a row of a batch."""

    PREPARED = "prepared"
    STARTED = "started"
    PAID = "paid"
    REFUSED = "refused"
    RETURNED = "returned"


CHARGE = law("charge", ChargeState, ChargeEvent, Code.INVALID_CHARGE_STATUS)
VAULT = law("vault", VaultState, VaultEvent, Code.INVALID_VAULT_ID, "vault item")
CCV = law("ccv", CcvState, CcvEvent, Code.INVALID_CCV)
SUBSCRIPTION = law("subscription", SubscriptionState, SubscriptionEvent, Code.UNABLE_TO_UPDATE_SUBSCRIPTION)
TRANSFER = law("transfer", TransferState, TransferEvent, Code.INVALID_TRANSFER_ID)
TOKEN = law("token", TokenState, TokenEvent, Code.INVALID_OR_EXPIRED_TOKEN, "payment token")
PAYTO = law("payto", PayToState, PayToEvent, Code.PAYTO_AGREEMENT_IS_NOT_ACTIVE, "PayTo agreement")
NETWORK_TOKEN = law("network_token", NetworkTokenState, NetworkTokenEvent, Code.INVALID_OR_EXPIRED_TOKEN)
BATCH = law("batch", BatchState, BatchEvent, Code.INVALID_BATCH)
BATCH_ROW = law("batch_row", BatchState, BatchRowEvent, Code.INVALID_BATCH_DATA)


def _presence(subject: str, refusal: Code) -> TransitionTable[Presence, PresenceEvent]:
    """The table of what is in use until it is removed."""
    return law("presence", Presence, PresenceEvent, refusal, subject)


CUSTOMER = _presence("customer", Code.INVALID_CUSTOMER_ID_REMOVED)
PAYMENT_METHOD = _presence("payment method", Code.INVALID_PAYMENT_METHOD_ID_REMOVED)
PROVIDER = _presence("provider", Code.INVALID_PROVIDER_ID)
WEBHOOK_SUBSCRIPTION = _presence("webhook subscription", Code.UNABLE_TO_DELETE_WEBHOOK_SUBSCRIPTION)

TABLES: Mapping[str, TransitionTable[Any, Any]] = {
    "charge": CHARGE,
    "vault": VAULT,
    "ccv": CCV,
    "customer": CUSTOMER,
    "payment_method": PAYMENT_METHOD,
    "provider": PROVIDER,
    "token": TOKEN,
    "payto": PAYTO,
    "network_token": NETWORK_TOKEN,
    "subscription": SUBSCRIPTION,
    "transfer": TRANSFER,
    "webhook_subscription": WEBHOOK_SUBSCRIPTION,
    "batch": BATCH,
    "batch_row": BATCH_ROW,
    "webhook": DELIVERY,
}
