"""What bodies ask for that are no value of the domain field by field: the functions that ``bodies.csv`` names.

Each is given a body, whose fields are those of its rows; some are told what else to make of it.
Source: docs/spec/service.md; docs/spec/published-facts.md, 1.2, 1.3, 2, 3.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from mockserver.domain.charge import Payer
from mockserver.domain.commands import (
    CardChanges,
    LinkPayment,
    MethodTerms,
    NewCardMethod,
    NewCardToken,
    NewCharge,
    NewCustomer,
    NewMethod,
    NewProviderTokenMethod,
    NewVaultItem,
)
from mockserver.domain.customer import CustomerDetails
from mockserver.domain.payment_link import LinkPaymentType
from mockserver.domain.provider import ProviderCondition
from mockserver.domain.sources import CardSource, ChargeSource, PaymentType, WalletSource
from mockserver.domain.subscription import EndAfter, Retry, RetryInterval
from mockserver.domain.vault import Expiry
from mockserver.wire.fields import made

_NAMES = attrgetter("first_name", "last_name", "email", "phone")
_WALLETS = {"applepay": PaymentType.APPLEPAY, "googlepay": PaymentType.GOOGLEPAY}
"""Wallets that the ``type`` of a payment method may name, as the client script does."""

_KINDS = {kind: PaymentType(kind.value.upper()) for kind in LinkPaymentType if kind is not LinkPaymentType.PAYTO}


def only_field(body: Any) -> Any:
    """What the only field of a body holds."""
    [held] = vars(body).values()
    return held


def charge(body: Any, source: Callable[..., ChargeSource], **named: str | None) -> NewCharge:
    """Charge a source; ``named`` is the provider that stands beside the body. There is no payer when it names nobody
    (assumption ``charge.customer_summary``)."""
    told = _NAMES(body)
    payer = None if told == (None,) * 4 else Payer(None, body.reference, *told)
    return made(
        body,
        NewCharge,
        source=source(body, **named),
        capture=body.capture is not False,
        payer=payer,
        email=None if payer is None else payer.email,
        initiator=body.initiator.value if body.initiator else None,
    )


def card(body: Any) -> CardSource:
    """The card to charge, and who shall take it when the body says so."""
    given, provider_id = body.payment_information, getattr(body, "provider_id", None)
    if given is None:
        return CardSource(provider_id=provider_id, is_given=False)
    return CardSource(
        given.card_number,
        given.expiry_date,
        given.ccv,
        given.cardholder,
        given.three_ds_server_trans_id,
        given.external_three_ds_data,
        provider_id=provider_id,
    )


def wallet(body: Any, named: str | None) -> WalletSource:
    """The wallet token to charge and who shall take it."""
    shown = body.token.payment_method
    if shown is None:
        return WalletSource(None, None, named)
    return WalletSource(shown.display_name, shown.network, named, _WALLETS.get((shown.type or "").lower()))


def method(body: Any, kind: Callable[..., NewMethod]) -> NewMethod:
    """Store a payment method on the terms of the body."""
    return kind(body, terms=made(body, MethodTerms))


def named_method(body: Any, kind: Callable[..., NewMethod]) -> NewMethod:
    """The same for a payer whom the body names, without a customer."""
    payer = made(body, Payer)
    is_named = payer != Payer(reference=payer.reference)
    return kind(body, terms=made(body, MethodTerms, payer=payer if is_named else None))


def customer(body: Any, kind: Callable[..., NewMethod]) -> NewCustomer:
    """A customer with a first payment method, whose webhooks go to the customer's receiver too."""
    first = kind(body, terms=made(body, MethodTerms, set_default=True))
    return made(body, NewCustomer, details=made(body, CustomerDetails), method=first)


def card_method(body: Any, terms: MethodTerms) -> NewCardMethod:
    """A card to store with a provider."""
    return made(body, NewCardMethod, terms=terms, expiry=_expiry(body))


def lasting_token(body: Any, terms: MethodTerms) -> NewProviderTokenMethod:
    """What a provider knows by a lasting token of its own."""
    return made(body, NewProviderTokenMethod, lasts=True, terms=terms)


def single_use_token(body: Any, terms: MethodTerms) -> NewProviderTokenMethod:
    """What a provider knows by a token for one use."""
    return made(body, NewProviderTokenMethod, lasts=False, terms=terms)


def agreement(body: Any, terms: MethodTerms) -> NewMethod:
    """A PayTo agreement, which has terms of its own."""
    asked: NewMethod = body.pay_to_agreement.command()
    return asked


def _expiry(body: Any) -> Expiry:
    return Expiry(body.vault_expire_seconds, body.vault_expire_date)


def card_changes(body: Any) -> CardChanges:
    """New data of a stored card and its metadata."""
    return made(body.card, CardChanges, metadata=body.metadata)


def card_token(body: Any, provider_id: str | None = None) -> NewCardToken:
    """A token of a card, for a provider or the cheapest one."""
    details = body.payment_information.command() if body.payment_information else None
    return made(body, NewCardToken, details=details, provider_id=provider_id, expiry=_expiry(body))


def vault_item(body: Any) -> NewVaultItem:
    """A card number to vault, and for how long."""
    return NewVaultItem(body.card_number, body.ccv, Expiry(body.expire_seconds, body.expire_date))


def link_payment(body: Any) -> LinkPayment:
    """One payment on the page of a link."""
    given = body.payment_information
    if body.payment_type is not LinkPaymentType.CARD:
        source: ChargeSource = WalletSource(body.payment_type.value, None, None, _KINDS.get(body.payment_type))
    elif given is None:
        source = CardSource(is_given=False)
    else:
        source = CardSource(given.card_number, given.expiry_date, given.ccv, given.cardholder)
    return made(body, LinkPayment, source=source)


def end_after(body: Any) -> EndAfter | None:
    """The end of a subscription, None when nothing ends it."""
    end = EndAfter(body.count or None, body.amount or None, body.date)
    return end if end != EndAfter() else None


def retry(body: Any) -> Retry:
    """How a declined payment is tried again, by default a day later."""
    return made(body, Retry, interval=RetryInterval.DAY if body.interval is None else body.interval)


def condition(body: Any) -> ProviderCondition:
    """For which currency and amounts a provider is hidden or offered."""
    return made(body, ProviderCondition, currency=body.currency.upper() if body.currency else None)
