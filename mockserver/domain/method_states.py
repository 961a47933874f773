"""The law of what stands behind payments: payment tokens, PayTo agreements, network tokens.

Sources: assumptions ``token.lifetime``, ``token.uses``, ``payto.status``, ``network_token.status``.
"""

from __future__ import annotations

from enum import StrEnum

from mockserver.domain.codes import Code
from mockserver.domain.law import TransitionTable


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


TOKEN: TransitionTable[TokenState, TokenEvent] = TransitionTable(
    subject="payment token",
    begins=TokenState.ACTIVE,
    moves={
        TokenState.ACTIVE: {
            TokenEvent.USED: TokenState.ACTIVE,
            TokenEvent.USED_UP: TokenState.USED,
            TokenEvent.EXPIRED: TokenState.EXPIRED,
        },
        TokenState.USED: {},
        TokenState.EXPIRED: {},
    },
    refusal=Code.INVALID_OR_EXPIRED_TOKEN,
)

PAYTO: TransitionTable[PayToState, PayToEvent] = TransitionTable(
    subject="PayTo agreement",
    begins=PayToState.PENDING,
    moves={
        PayToState.PENDING: {
            PayToEvent.AGREED: PayToState.ACTIVE,
            PayToEvent.DECLINED: PayToState.DECLINED,
            PayToEvent.EXPIRED: PayToState.EXPIRED,
            PayToEvent.CANCELLED: PayToState.CANCELLED,
        },
        PayToState.ACTIVE: {
            PayToEvent.SUSPENDED: PayToState.SUSPENDED,
            PayToEvent.EXPIRED: PayToState.EXPIRED,
            PayToEvent.CANCELLED: PayToState.CANCELLED,
        },
        PayToState.SUSPENDED: {
            PayToEvent.AGREED: PayToState.ACTIVE,
            PayToEvent.EXPIRED: PayToState.EXPIRED,
            PayToEvent.CANCELLED: PayToState.CANCELLED,
        },
        PayToState.DECLINED: {},
        PayToState.EXPIRED: {},
        PayToState.CANCELLED: {},
    },
    refusal=Code.PAYTO_AGREEMENT_IS_NOT_ACTIVE,
)

NETWORK_TOKEN: TransitionTable[NetworkTokenState, NetworkTokenEvent] = TransitionTable(
    subject="network token",
    begins=NetworkTokenState.ACTIVE,
    moves={
        NetworkTokenState.ACTIVE: {
            NetworkTokenEvent.DEACTIVATED: NetworkTokenState.INACTIVE,
            NetworkTokenEvent.SUSPENDED: NetworkTokenState.SUSPENDED,
            NetworkTokenEvent.DELETED: NetworkTokenState.DELETED,
        },
        NetworkTokenState.INACTIVE: {
            NetworkTokenEvent.ACTIVATED: NetworkTokenState.ACTIVE,
            NetworkTokenEvent.DELETED: NetworkTokenState.DELETED,
        },
        NetworkTokenState.SUSPENDED: {
            NetworkTokenEvent.ACTIVATED: NetworkTokenState.ACTIVE,
            NetworkTokenEvent.DELETED: NetworkTokenState.DELETED,
        },
        NetworkTokenState.DELETED: {},
    },
    refusal=Code.INVALID_OR_EXPIRED_TOKEN,
)
