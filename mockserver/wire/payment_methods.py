"""Payment methods on the wire. Source: service document, Payment methods; published facts, 1.2, 2.5, 2.6."""

from __future__ import annotations

from typing import Any, TypedDict

from mockserver.domain.commands import NewCardMethod, SwitchProvider, VaultWish
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.vault import Expiry
from mockserver.wire.base import Body, Flag, Map, Moment, Required, Whole
from mockserver.wire.dates import moment
from mockserver.wire.profile import Voice
from mockserver.wire.shapes import (
    BankPaymentReply,
    CardReply,
    CardRequestInformation,
    DateTime,
    PayerReply,
    ProviderSummaryReply,
    WebhookConfig,
    bank_reply,
    card_reply,
    optional_moment,
    payer_reply,
    plain_map,
    provider_summary_reply,
)


class CardVaulting(Body):
    """Whether a card shall be vaulted too, and for how long: at most one of the two expiry fields."""

    vault_card: Flag | None = None
    vault_expire_date: Moment | None = None
    vault_expire_seconds: Whole | None = None

    def wish(self) -> VaultWish:
        """The wish as a command carries it."""
        return VaultWish(bool(self.vault_card), Expiry(self.vault_expire_seconds, self.vault_expire_date))


class CardMethodCreation(CardVaulting):
    """A card to store with a provider."""

    provider_id: Required
    payment_information: CardRequestInformation
    ip: str | None = None
    set_default: Flag | None = None
    skip_expiry_date_validation: Flag | None = None
    metadata: Map | None = None
    fallback_payment_method_id: str | None = None
    webhook: WebhookConfig | None = None
    create_network_token: Flag | None = None
    verify: Flag | None = None

    def command(self) -> NewCardMethod:
        """The command that these fields make."""
        return NewCardMethod(
            details=self.payment_information.details(),
            provider_id=self.provider_id,
            vault=self.wish(),
            ip=self.ip,
            skip_expiry_check=bool(self.skip_expiry_date_validation),
            metadata=self.metadata,
            fallback_payment_method_id=self.fallback_payment_method_id,
            webhook=self.webhook.target() if self.webhook else None,
            create_network_token=bool(self.create_network_token),
            verify=bool(self.verify),
        )


class ProviderSwitch(Body):
    """A vaulted payment method to store with another provider."""

    provider_id: Required
    payment_method_id: Required
    ccv: str | None = None
    fallback_payment_method_id: str | None = None
    webhook: WebhookConfig | None = None

    def command(self) -> SwitchProvider:
        """The command that these fields make."""
        return SwitchProvider(
            provider_id=self.provider_id,
            payment_method_id=self.payment_method_id,
            ccv=self.ccv,
            fallback_payment_method_id=self.fallback_payment_method_id,
            webhook=self.webhook.target() if self.webhook else None,
        )


class PaymentMethodReply(TypedDict):
    """A payment method."""

    paymentMethodId: str
    customerId: str | None
    type: str
    card: CardReply | None
    bankPayment: BankPaymentReply | None
    providerId: str
    providerType: str
    dateAdded: DateTime
    dateRemoved: DateTime | None
    email: str | None
    customer: PayerReply | None
    provider: ProviderSummaryReply
    payTo: dict[str, Any] | None
    networkToken: dict[str, Any] | None
    vaultId: str | None
    payToStatus: str | None
    ip: str | None
    providerPaymentMethodId: str | None
    providerPaymentMethodData: dict[str, str] | None
    token: str | None
    networkTokenId: str | None
    fallbackPaymentMethodId: str | None
    metadata: dict[str, str] | None


def payment_method_reply(method: PaymentMethod, voice: Voice) -> PaymentMethodReply:
    """A payment method as the documented object, null where nothing is known."""
    return {
        "paymentMethodId": method.payment_method_id,
        "customerId": method.customer_id,
        "type": method.instrument.type.value,
        "card": card_reply(method.instrument.card, voice),
        "bankPayment": bank_reply(method.instrument.bank, voice),
        "providerId": method.provider.provider_id,
        "providerType": method.provider.type,
        "dateAdded": moment(method.added),
        "dateRemoved": optional_moment(method.removed),
        "email": method.email,
        "customer": payer_reply(method.payer),
        "provider": provider_summary_reply(method.provider),
        "payTo": None,
        "networkToken": None,
        "vaultId": method.vault_id,
        "payToStatus": None,
        "ip": method.ip,
        "providerPaymentMethodId": method.provider_payment_method_id,
        "providerPaymentMethodData": plain_map(method.provider_data),
        "token": method.token,
        "networkTokenId": method.network_token_id,
        "fallbackPaymentMethodId": method.fallback_payment_method_id,
        "metadata": plain_map(method.metadata),
    }
