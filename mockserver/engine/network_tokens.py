"""Network-token use cases: make one for a stored card, find it for a charge.

Source: docs/spec/service.md, Payment method, networkToken; assumption ``network_token.status``.
"""

from __future__ import annotations

from mockserver.domain.cards import Card
from mockserver.domain.codes import Code
from mockserver.domain.errors import Faults
from mockserver.domain.network_token import NetworkToken
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.states import NetworkTokenState
from mockserver.engine.step import Step, unknown


def create(step: Step, method: PaymentMethod, card: Card) -> NetworkToken:
    """Make the network token of a payment method that is being stored."""
    sandbox = step.sandbox
    return step.add(
        NetworkToken(
            network_token_id=sandbox.ids.hex32("network_token"),
            scheme_token_id=sandbox.ids.hex32("scheme_token"),
            provider=method.provider,
            card=card,
            added=sandbox.now,
            scheme_data={"scheme": card.number.brand.value, "panLastFour": card.number.last4},
            payment_method_id=method.payment_method_id,
            customer_id=method.customer_id,
        )
    )


def usable(step: Step, network_token_id: str | None, faults: Faults) -> NetworkToken | None:
    """The token that a charge names, or None. Faults: 90 (not given), 51 (unknown, or not active)."""
    if not network_token_id:
        faults.wrong("NetworkTokenId", "required")
        return None
    token = step.sandbox.network_tokens.get(network_token_id)
    if token is None:
        faults.add(Code.INVALID_OR_EXPIRED_TOKEN, "NetworkTokenId", unknown("network_token", network_token_id))
        return None
    if token.status is not NetworkTokenState.ACTIVE:
        text = f"got a network token in {token.status.value}, wanted {NetworkTokenState.ACTIVE.value}"
        faults.add(Code.INVALID_OR_EXPIRED_TOKEN, "NetworkTokenId", text)
        return None
    step.result.about["network_token"] = token
    return token
