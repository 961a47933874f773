"""The lists of the service, one table for each: every parameter of its document, and the fields that it sorts by.

Sources: docs/spec/service.md, Charges, Customers, Payment methods and Batches; docs/spec/published-facts.md, 3;
assumptions ``charge.search_card_number``, ``customer.search``, ``payment_method.search``, ``sort``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from mockserver.domain.batch import Batch
from mockserver.domain.cards import MIN_LENGTH, PREFIX_LENGTHS, clean
from mockserver.domain.charge import Charge
from mockserver.domain.customer import Customer
from mockserver.domain.errors import Faults
from mockserver.domain.payment_link import PaymentLink
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.states import CHARGE_STATE_BY_WORD, BatchState, ChargeState, TokenState
from mockserver.domain.subscription import Subscription
from mockserver.domain.token import Token
from mockserver.domain.transfer import Transfer
from mockserver.domain.webhook_subscription import WebhookSubscription
from mockserver.engine.listing import Search, Sort, amount_beyond, amount_of, by, in_state, saying
from mockserver.engine.query import Query
from mockserver.engine.step import Step

_NEWEST: Mapping[str, Sort] = {"date": None}
_ADDED: Mapping[str, Sort] = {"dateadded": None, **_NEWEST}
_AMOUNTS = {"amount_greater_than": amount_beyond(above=True), "amount_less_than": amount_beyond(above=False)}


def _card_number(step: Step, given: str, query: Query[Any], faults: Faults) -> None:
    digits = clean(given)
    if digits is None or (len(digits) not in PREFIX_LENGTHS and len(digits) < MIN_LENGTH):
        allowed = ", ".join(map(str, PREFIX_LENGTHS))
        faults.wrong("CardNumber", f"wanted {allowed} leading digits, or the whole number")
        return
    query.equal.append(("fingerprint", tuple(step.sandbox.cards.fingerprints(digits))))


def _shown_status(authorised: str, charge: Charge) -> str:
    return authorised if charge.status is ChargeState.AUTHORISED else charge.status.value


CHARGES: Search[Charge] = Search(
    lambda sandbox: sandbox.charges,
    {
        **_ADDED,
        "amount": amount_of,
        "currency": lambda charge: charge.currency,
        # As it is shown: the word of authorised ones is an assumption.
        "status": {word: partial(_shown_status, word) for word in ("Authorised", "AUTHORISE")},
        "reference": lambda charge: charge.reference or "",
        "providerid": lambda charge: charge.provider.provider_id,
        "customerid": lambda charge: charge.customer_id or "",
        "chargeid": lambda charge: charge.charge_id,
        "successdate": lambda charge: charge.succeeded or 0,
        "voiddate": lambda charge: charge.voided or 0,
        "refundedamount": lambda charge: charge.refunded,
    },
    {
        "reference": by("reference"),
        "provider_id": by("provider"),
        "customer_id": by("customer"),
        "status": in_state(CHARGE_STATE_BY_WORD, ", ".join(sorted(ChargeState)), "status"),
        "payment_method_id": by("payment_method"),
        "payment_type": by("payment_type", str.upper),
        "card_type": by("brand", str.upper),
        "currency": by("currency", str.upper),
        "cardholder": by("cardholder"),
        "batch_id": by("batch"),
        "subscription_id": by("subscription"),
        "card_number": _card_number,
        **_AMOUNTS,
    },
)


def _customer_words(customer: Customer) -> tuple[str | None, ...]:
    full = f"{customer.first_name or ''} {customer.last_name or ''}"
    return customer.reference, full, customer.email, customer.phone


def _owner_of_method(step: Step, payment_method_id: str, query: Query[Any], faults: Faults) -> None:
    method = step.sandbox.payment_methods.get(payment_method_id)
    query.equal.append(("id", ((method.customer_id if method else None) or "",)))


CUSTOMERS: Search[Customer] = Search(
    lambda sandbox: sandbox.customers,
    {
        **_ADDED,
        "reference": lambda customer: (customer.reference or "").lower(),
        "firstname": lambda customer: (customer.first_name or "").lower(),
        "lastname": lambda customer: (customer.last_name or "").lower(),
        "email": lambda customer: (customer.email or "").lower(),
        "phone": lambda customer: customer.phone or "",
        "customerid": lambda customer: customer.customer_id,
        "dateremoved": lambda customer: customer.removed or 0,
    },
    {
        "customer_id": by("id"),
        "payment_method_id": _owner_of_method,
        "reference": by("reference"),
        "email": by("email", str.lower),
        "search": saying(_customer_words),
    },
    hides_removed=True,
)


def _method_words(method: PaymentMethod) -> tuple[str | None, ...]:
    card, bank, payer = method.instrument.card, method.instrument.bank, method.payer
    return (
        method.payment_method_id,
        method.email,
        *((card.cardholder, card.number.masked) if card else ()),
        *((bank.account_name, bank.account_number) if bank else ()),
        *((payer.reference, payer.first_name, payer.last_name, payer.email, payer.phone) if payer else ()),
    )


PAYMENT_METHODS: Search[PaymentMethod] = Search(
    lambda sandbox: sandbox.payment_methods,
    {
        **_ADDED,
        "type": lambda method: method.instrument.type.value,
        "providerid": lambda method: method.provider.provider_id,
        "providertype": lambda method: method.provider.type,
        "customerid": lambda method: method.customer_id or "",
        "email": lambda method: (method.email or "").lower(),
        "paymentmethodid": lambda method: method.payment_method_id,
        "dateremoved": lambda method: method.removed or 0,
    },
    {
        "provider_id": by("provider"),
        "customer_id": by("customer"),
        "payment_type": by("payment_type", str.upper),
        "card_type": by("brand", str.upper),
        "search": saying(_method_words),
    },
    hides_removed=True,
)

TOKENS: Search[Token] = Search(
    lambda sandbox: sandbox.tokens,
    {
        **_ADDED,
        "dateused": lambda token: token.used or 0,
        "tokenid": lambda token: token.token_id,
        "providerid": lambda token: token.provider.provider_id,
        "status": lambda token: token.state.value,
    },
    {
        "provider_id": by("provider"),
        "status": in_state({state.value.lower(): state for state in TokenState}, ", ".join(TokenState), "state"),
    },
)

PAYMENT_LINKS: Search[PaymentLink] = Search(
    lambda sandbox: sandbox.payment_links,
    {
        **_NEWEST,
        "dateadded": None,
        "title": lambda link: (link.title or "").lower(),
        "amount": lambda link: link.amount or 0,
    },
)

SUBSCRIPTIONS: Search[Subscription] = Search(
    lambda sandbox: sandbox.subscriptions,
    {
        **_NEWEST,
        "createddate": None,
        "status": lambda row: row.status.value,
        "currency": lambda row: row.currency,
        "amount": amount_of,
        "startdate": lambda row: row.start,
    },
    {"status": by("status"), "currency": by("currency", str.upper), **_AMOUNTS},
)

BATCHES: Search[Batch] = Search(
    lambda sandbox: sandbox.batches,
    {
        **_NEWEST,
        "dateadded": None,
        "description": lambda batch: batch.description.lower(),
        "status": lambda batch: batch.status.value,
        "count": lambda batch: len(batch.rows),
        "progress": lambda batch: batch.progress,
    },
    {
        "description": saying(lambda batch: (batch.description,)),
        "status": in_state({state.value: state for state in BatchState}, ", ".join(BatchState), "status"),
    },
)

TRANSFERS: Search[Transfer] = Search(
    lambda sandbox: sandbox.transfers,
    {
        **_NEWEST,
        "dateadded": None,
        "amount": lambda row: row.amount,
        "reference": lambda row: row.reference or "",
        "status": lambda row: row.status.value,
        "currency": lambda row: row.currency,
    },
    {
        "provider_id": by("provider"),
        "status": by("status", str.upper),
        "reference": by("references"),
    },
)

WEBHOOK_SUBSCRIPTIONS: Search[WebhookSubscription] = Search(
    lambda sandbox: sandbox.webhook_subscriptions,
    {**_NEWEST, "createddate": None, "url": lambda row: row.url},
    {
        "type": by("types"),
        "id": by("id"),
    },
    hides_removed=True,
)
