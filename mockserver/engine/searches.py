"""The lists of the service, one table for each, with every parameter of its document and the fields
that it sorts by. How a list works is told in ``listing``.

Sources: docs/spec/service.md, Charges, Customers, Payment methods and Batches;
docs/spec/published-facts.md, 3; assumptions ``search.card_type``, ``search.reference``,
``search.cardholder``, ``search.email``, ``search.description``; settled facts
``charge.search_card_number``, ``customer.search``, ``payment_method.search``.
"""

from collections.abc import Mapping
from functools import partial
from operator import ge, gt, le, lt
from typing import Any

from mockserver.domain.batch import Batch
from mockserver.domain.cards import MIN_LENGTH, PREFIX_LENGTHS, clean
from mockserver.domain.charge import Charge
from mockserver.domain.customer import Customer
from mockserver.domain.errors import Faults
from mockserver.domain.payment_link import PaymentLink
from mockserver.domain.payment_method import PaymentMethod
from mockserver.domain.states import (
    CHARGE_STATE_BY_WORD,
    BatchState,
    ChargeState,
    TokenState,
)
from mockserver.domain.subscription import Subscription
from mockserver.domain.token import Token
from mockserver.domain.transfer import Transfer
from mockserver.domain.webhook_subscription import WebhookSubscription
from mockserver.engine import intake
from mockserver.engine.indexed_table import Query
from mockserver.engine.listing import (
    Search,
    Sort,
    amount_beyond,
    amount_of,
    found_by,
    found_by_capitals,
    in_state,
    saying,
    sorted_by_name,
    sorted_by_number,
    sorted_by_text,
    text_parameter,
    words_of,
)
from mockserver.engine.step import Step

_NEWEST: Mapping[str, Sort] = {"date": None}
_ADDED: Mapping[str, Sort] = {"dateadded": None, **_NEWEST}
"""By the time of adding, which is the order in which rows stand."""

_AMOUNTS = {"amount_greater_than": amount_beyond(gt, ge), "amount_less_than": amount_beyond(lt, le)}


def _cardholder(charge: Charge) -> tuple[str | None, ...]:
    """The holder of a charge's card, as words that ``text_parameter`` looks at."""
    card = charge.instrument.card
    if card is None:
        return ()
    return (card.cardholder,)


_BY_CARD_TYPE: Mapping[str, str] = {
    "scheme": "brand",
    "card_type": "funding",
    "either": "card_type",
}
"""The index that knows cards by what ``CardType`` means (assumption ``search.card_type``)."""


def _card_type(step: Step, value: str, query: Query[Any], faults: Faults) -> None:
    """Rows whose card is of a type. Clients call both the scheme (VISA) and how a card is funded
    (CREDIT) its type."""
    index = _BY_CARD_TYPE[step.assume("search.card_type")]
    query.equal.append((index, (value.upper(),)))


def _card_number(step: Step, given: str, query: Query[Any], faults: Faults) -> None:
    """Charges of the cards whose number begins with, or is, the digits. Only so many leading digits
    are kept, as digests, so other lengths cannot be searched."""
    digits = clean(given)
    is_prefix = digits is not None and len(digits) in PREFIX_LENGTHS
    is_whole = digits is not None and len(digits) >= MIN_LENGTH
    if digits is None or not (is_prefix or is_whole):
        allowed = ", ".join(map(str, PREFIX_LENGTHS))
        faults.wrong("CardNumber", f"wanted {allowed} leading digits, or the whole number")
        return
    if not intake.takes_parts(step, given, digits):
        faults.wrong("CardNumber", intake.PARTED)
        return
    query.equal.append(("fingerprint", tuple(step.sandbox.cards.fingerprints(digits))))


def _shown_status(authorised: str, charge: Charge) -> str:
    """The status by which a charge is sorted: as the client sees it, where authorised ones are
    called ``authorised``."""
    if charge.status is ChargeState.AUTHORISED:
        return authorised
    return charge.status.value


CHARGES: Search[Charge] = Search(
    table=lambda sandbox: sandbox.charges,
    sorts={
        **_ADDED,
        "amount": amount_of,
        **sorted_by_text(currency="currency"),
        # As it is shown: the word of authorised ones is an assumption.
        "status": {word: partial(_shown_status, word) for word in ("Authorised", "AUTHORISE")},
        **sorted_by_text(
            reference="reference", providerid="provider.provider_id", customerid="customer_id"
        ),
        **sorted_by_text(chargeid="charge_id"),
        **sorted_by_number(successdate="succeeded", voiddate="voided", refundedamount="refunded"),
    },
    parameters={
        **found_by(
            provider_id="provider", customer_id="customer", payment_method_id="payment_method"
        ),
        **found_by(batch_id="batch", subscription_id="subscription"),
        **found_by_capitals(payment_type="payment_type", currency="currency"),
        "reference": text_parameter("search.reference", words_of("reference"), exact="reference"),
        "cardholder": text_parameter("search.cardholder", _cardholder, exact="cardholder"),
        "card_type": _card_type,
        "status": in_state(CHARGE_STATE_BY_WORD, ", ".join(sorted(ChargeState)), "status"),
        "card_number": _card_number,
        **_AMOUNTS,
    },
)


def _customer_words(customer: Customer) -> tuple[str | None, ...]:
    """Where ``Search`` looks. First and last name are one text: people search for both."""
    full = f"{customer.first_name or ''} {customer.last_name or ''}"
    return customer.reference, full, customer.email, customer.phone


def _owner_of_method(step: Step, payment_method_id: str, query: Query[Any], faults: Faults) -> None:
    """The customer of a payment method; for one that is unknown or of nobody the empty id, which no
    customer has."""
    method = step.sandbox.payment_methods.get(payment_method_id)
    owner_id = None
    if method is not None:
        owner_id = method.customer_id
    query.equal.append(("id", (owner_id or "",)))


CUSTOMERS: Search[Customer] = Search(
    table=lambda sandbox: sandbox.customers,
    sorts={
        **_ADDED,
        **sorted_by_name(
            reference="reference",
            firstname="first_name",
            lastname="last_name",
            email="email",
        ),
        **sorted_by_text(phone="phone", customerid="customer_id"),
        **sorted_by_number(dateremoved="removed"),
    },
    parameters={
        **found_by(customer_id="id"),
        "reference": text_parameter("search.reference", words_of("reference"), exact="reference"),
        "email": text_parameter("search.email", words_of("email"), any_case="email"),
        "payment_method_id": _owner_of_method,
        "search": saying(_customer_words),
    },
    hides_removed=True,
)


def _method_words(method: PaymentMethod) -> list[str | None]:
    """Where ``Search`` looks: whatever a person may know of a payment method."""
    card, bank, payer = method.instrument.card, method.instrument.bank, method.payer
    words = [method.payment_method_id, method.email]
    if card is not None:
        words += [card.cardholder, card.number.masked]
    if bank is not None:
        words += [bank.account_name, bank.account_number]
    if payer is not None:
        names = [payer.reference, payer.first_name, payer.last_name]
        words += [*names, payer.email, payer.phone]
    return words


PAYMENT_METHODS: Search[PaymentMethod] = Search(
    table=lambda sandbox: sandbox.payment_methods,
    sorts={
        **_ADDED,
        **sorted_by_text(
            type="instrument.type.value",
            providerid="provider.provider_id",
            providertype="provider.type",
        ),
        **sorted_by_text(customerid="customer_id"),
        **sorted_by_name(email="email"),
        **sorted_by_text(paymentmethodid="payment_method_id"),
        **sorted_by_number(dateremoved="removed"),
    },
    parameters={
        **found_by(provider_id="provider", customer_id="customer"),
        **found_by_capitals(payment_type="payment_type"),
        "card_type": _card_type,
        "search": saying(_method_words),
    },
    hides_removed=True,
)

TOKENS: Search[Token] = Search(
    table=lambda sandbox: sandbox.tokens,
    sorts={
        **_ADDED,
        **sorted_by_number(dateused="used"),
        **sorted_by_text(
            tokenid="token_id", providerid="provider.provider_id", status="state.value"
        ),
    },
    parameters={
        **found_by(provider_id="provider"),
        "status": in_state(
            {state.value.lower(): state for state in TokenState}, ", ".join(TokenState), "state"
        ),
    },
)

PAYMENT_LINKS: Search[PaymentLink] = Search(
    table=lambda sandbox: sandbox.payment_links,
    sorts={
        **_NEWEST,
        "dateadded": None,
        **sorted_by_name(title="title"),
        **sorted_by_number(amount="amount"),
    },
)

SUBSCRIPTIONS: Search[Subscription] = Search(
    table=lambda sandbox: sandbox.subscriptions,
    sorts={
        **_NEWEST,
        "createddate": None,
        **sorted_by_text(status="status.value", currency="currency"),
        "amount": amount_of,
        **sorted_by_number(startdate="start"),
    },
    parameters={**found_by(status="status"), **found_by_capitals(currency="currency"), **_AMOUNTS},
)

BATCHES: Search[Batch] = Search(
    table=lambda sandbox: sandbox.batches,
    sorts={
        **_NEWEST,
        "dateadded": None,
        **sorted_by_name(description="description"),
        **sorted_by_text(status="status.value"),
        "count": lambda batch: len(batch.rows),
        "progress": lambda batch: batch.progress,
    },
    parameters={
        "description": text_parameter("search.description", words_of("description")),
        "status": in_state(
            {state.value: state for state in BatchState}, ", ".join(BatchState), "status"
        ),
    },
)

TRANSFERS: Search[Transfer] = Search(
    table=lambda sandbox: sandbox.transfers,
    sorts={
        **_NEWEST,
        "dateadded": None,
        **sorted_by_number(amount="amount"),
        **sorted_by_text(reference="reference", status="status.value", currency="currency"),
    },
    parameters={
        **found_by(provider_id="provider"),
        **found_by_capitals(status="status"),
        "reference": text_parameter(
            "search.reference",
            words_of("reference", "group_reference"),
            exact="references",
        ),
    },
)

WEBHOOK_SUBSCRIPTIONS: Search[WebhookSubscription] = Search(
    table=lambda sandbox: sandbox.webhook_subscriptions,
    sorts={**_NEWEST, "createddate": None, **sorted_by_text(url="url")},
    parameters=found_by(type="types", id="id"),
    hides_removed=True,
)
