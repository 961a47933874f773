"""THE LAW: every state, every event and every legal move, as complete tables.

A table lists each state with a row of the events that move it; an empty row is a state that nothing leaves. What is
not in the table is refused by ``TransitionTable.advance``, the only way to change a state, before anything else
changes.

Sources: service document, States and transitions; where it is silent, the assumptions ``charge.*``,
``vault.gone``, ``vault.ccv_delay``, ``token.lifetime``, ``removed.customer_or_method``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from mockserver.domain.batch_states import BATCH, BATCH_ROW
from mockserver.domain.codes import Code
from mockserver.domain.delivery import DELIVERY
from mockserver.domain.law import TransitionTable
from mockserver.domain.method_states import NETWORK_TOKEN, PAYTO, TOKEN


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


CHARGE: TransitionTable[ChargeState, ChargeEvent] = TransitionTable(
    subject="charge",
    begins={
        ChargeEvent.AUTHORISED: ChargeState.AUTHORISED,
        ChargeEvent.PAID: ChargeState.SUCCESS,
        ChargeEvent.PENDING: ChargeState.PENDING,
        ChargeEvent.CHALLENGED: ChargeState.PENDING_CHECKOUT,
        ChargeEvent.DECLINED: ChargeState.FAILED,
    },
    moves={
        ChargeState.PENDING_CHECKOUT: {
            ChargeEvent.AUTHORISED: ChargeState.AUTHORISED,
            ChargeEvent.PAID: ChargeState.SUCCESS,
            ChargeEvent.PENDING: ChargeState.PENDING,
            ChargeEvent.DECLINED: ChargeState.FAILED,
            ChargeEvent.ABANDONED: ChargeState.FAILED,
        },
        ChargeState.PENDING: {
            ChargeEvent.SETTLED: ChargeState.SUCCESS,
            ChargeEvent.RETURNED: ChargeState.FAILED,
        },
        ChargeState.AUTHORISED: {
            ChargeEvent.CAPTURED: ChargeState.SUCCESS,
            ChargeEvent.PENDING: ChargeState.PENDING,
            ChargeEvent.VOIDED: ChargeState.AUTHORISE_CANCELLED,
            ChargeEvent.EXPIRED: ChargeState.AUTHORISE_CANCELLED,
        },
        ChargeState.SUCCESS: {
            ChargeEvent.PARTLY_REFUNDED: ChargeState.PARTIAL_REFUND,
            ChargeEvent.FULLY_REFUNDED: ChargeState.REFUND,
            ChargeEvent.RETURNED: ChargeState.FAILED,
        },
        ChargeState.PARTIAL_REFUND: {
            ChargeEvent.PARTLY_REFUNDED: ChargeState.PARTIAL_REFUND,
            ChargeEvent.FULLY_REFUNDED: ChargeState.REFUND,
            ChargeEvent.REFUND_FAILED: ChargeState.PARTIAL_REFUND,
            ChargeEvent.LAST_REFUND_FAILED: ChargeState.SUCCESS,
        },
        ChargeState.REFUND: {
            ChargeEvent.REFUND_FAILED: ChargeState.PARTIAL_REFUND,
            ChargeEvent.LAST_REFUND_FAILED: ChargeState.SUCCESS,
        },
        ChargeState.AUTHORISE_CANCELLED: {},
        ChargeState.FAILED: {},
    },
    refusal=Code.INVALID_CHARGE_STATUS,
)

VAULT: TransitionTable[VaultState, VaultEvent] = TransitionTable(
    subject="vault item",
    begins=VaultState.STORED,
    moves={
        VaultState.STORED: {VaultEvent.EXPIRED: VaultState.EXPIRED, VaultEvent.DELETED: VaultState.DELETED},
        VaultState.EXPIRED: {},
        VaultState.DELETED: {},
    },
    refusal=Code.INVALID_VAULT_ID,
)

CCV: TransitionTable[CcvState, CcvEvent] = TransitionTable(
    subject="ccv",
    begins=CcvState.HELD,
    moves={
        CcvState.ABSENT: {},
        CcvState.HELD: {
            CcvEvent.PAID: CcvState.SPENT,
            CcvEvent.DELAY_PASSED: CcvState.EXPIRED,
            CcvEvent.ITEM_GONE: CcvState.EXPIRED,
        },
        CcvState.SPENT: {},
        CcvState.EXPIRED: {},
    },
    refusal=Code.INVALID_CCV,
)


def _comes_and_goes(subject: str, refusal: Code) -> TransitionTable[Presence, PresenceEvent]:
    """The table of what is in use until it is removed."""
    return TransitionTable(
        subject=subject,
        begins=Presence.ACTIVE,
        moves={Presence.ACTIVE: {PresenceEvent.REMOVED: Presence.REMOVED}, Presence.REMOVED: {}},
        refusal=refusal,
    )


CUSTOMER = _comes_and_goes("customer", Code.INVALID_CUSTOMER_ID_REMOVED)
PAYMENT_METHOD = _comes_and_goes("payment method", Code.INVALID_PAYMENT_METHOD_ID_REMOVED)
PROVIDER = _comes_and_goes("provider", Code.INVALID_PROVIDER_ID)
WEBHOOK_SUBSCRIPTION = _comes_and_goes("webhook subscription", Code.UNABLE_TO_DELETE_WEBHOOK_SUBSCRIPTION)

SUBSCRIPTION: TransitionTable[SubscriptionState, SubscriptionEvent] = TransitionTable(
    subject="subscription",
    begins={SubscriptionEvent.CREATED: SubscriptionState.ACTIVE},
    moves={
        SubscriptionState.ACTIVE: {
            SubscriptionEvent.UPDATED: SubscriptionState.ACTIVE,
            SubscriptionEvent.SUSPENDED: SubscriptionState.SUSPENDED,
            SubscriptionEvent.CANCELLED: SubscriptionState.CANCELLED,
            SubscriptionEvent.COMPLETED: SubscriptionState.COMPLETE,
        },
        SubscriptionState.SUSPENDED: {
            SubscriptionEvent.UPDATED: SubscriptionState.SUSPENDED,
            SubscriptionEvent.RESUMED: SubscriptionState.ACTIVE,
            SubscriptionEvent.CANCELLED: SubscriptionState.CANCELLED,
            SubscriptionEvent.COMPLETED: SubscriptionState.COMPLETE,
        },
        SubscriptionState.CANCELLED: {},
        SubscriptionState.COMPLETE: {},
    },
    refusal=Code.UNABLE_TO_UPDATE_SUBSCRIPTION,
)

TRANSFER: TransitionTable[TransferState, TransferEvent] = TransitionTable(
    subject="transfer",
    begins={TransferEvent.ORDERED: TransferState.PENDING, TransferEvent.SETTLED: TransferState.SUCCESS},
    moves={
        TransferState.PENDING: {TransferEvent.SETTLED: TransferState.SUCCESS},
        TransferState.SUCCESS: {},
    },
    refusal=Code.INVALID_TRANSFER_ID,
)

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
