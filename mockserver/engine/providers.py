"""Provider use cases: configure, change, remove, find, choose by cost, ask; and which are offered
for a payment.

When one is asked, the rules of its stage decide, its time is counted, and its refusal keeps its own
words. A provider is a pretence: without a rule it agrees to everything. What it can do (its
``capabilities``) and which currency it takes are looked at before it is asked, so that a shop meets
the refusals that a wrong configuration would bring in production.

Which provider takes a payment that names none is settled by one rule each: the oldest that has the
feature (wallets, checkouts), or the cheapest (cards). Both look at the currency first (``taking``).

Sources: docs/spec/service.md, What the service does, 1; docs/spec/published-facts.md, 1.1 rows
59-62, 2.12, 2.13, 7.2; docs/scenario-language.md, When a rule is asked, and outcome; assumption
``provider.other_currency``; settled facts ``provider.unknown``, ``least_cost``.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from mockserver.domain.cards import CardNumber
from mockserver.domain.clock import Micros
from mockserver.domain.codes import Code
from mockserver.domain.errors import Faults, Invalid, NotFound, ProviderRefused, nearest
from mockserver.domain.money import CURRENCIES, ZERO, Currency, currency
from mockserver.domain.provider import (
    CAPABILITIES,
    ENVIRONMENTS,
    Capability,
    Provider,
    ProviderDetails,
    ProviderSummary,
    check_costs,
    simulated_latency,
)
from mockserver.domain.record import record, replace
from mockserver.domain.sources import CHECKOUTS, Checkout, Instrument, PaymentType
from mockserver.domain.states import Presence
from mockserver.engine.result import Unreached
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.step import Step
from mockserver.scenario.attempt import Stage
from mockserver.scenario.outcome import Outcome
from mockserver.scenario.provider_outcome import Decline
from mockserver.scenario.transport import At

_LACKS: Mapping[Capability, Code] = {
    Capability.DIRECT_DEBIT: Code.DIRECT_DEBIT_NOT_SUPPORTED,
    Capability.AUTHORISE: Code.FEATURE_AUTHORISE_AND_CAPTURE_IS_NOT_SUPPORTED,
    Capability.PARTIAL_CAPTURE: Code.FEATURE_PARTIAL_CAPTURE_IS_NOT_SUPPORTED_CAPTURE_AMOUNT,
}
"""Codes of a missing feature; any other is 32 (settled fact ``provider.unknown``)."""


NEEDS: Mapping[PaymentType, Capability] = {
    PaymentType.CARD: Capability.CARD,
    PaymentType.BANK_ACCOUNT: Capability.DIRECT_DEBIT,
    PaymentType.PAYTO: Capability.PAYTO,
    PaymentType.NETWORK_TOKEN: Capability.NETWORK_TOKEN,
    PaymentType.WALLET: Capability.WALLET,
    PaymentType.APPLEPAY: Capability.WALLET,
    PaymentType.GOOGLEPAY: Capability.WALLET,
    **{PaymentType(row.payment_type): Capability.CHECKOUT for row in CHECKOUTS.values()},
}
"""What a provider must be able to do for each type of payment."""


def create(step: Step, given: ProviderDetails) -> Provider:
    """Add a provider. Raises ``Invalid`` 90 (type, name, environment, costs, latency), 29
    (currency), 117 (fallback)."""
    sandbox = step.sandbox
    faults = Faults()
    provider_type = (given.type or "").lower()
    if provider_type not in CAPABILITIES:
        got = f"got '{provider_type[:40]}'" if provider_type else "required"
        hint = nearest(provider_type, CAPABILITIES)
        faults.wrong("Type", f"{got}, wanted a provider type such as dummy{hint}")
    if not given.name:
        faults.wrong("Name", "required")
    if not given.currency:
        given = replace(given, currency=step.assume("provider.currency"))
    given = _checked(sandbox, given, faults)
    latency = simulated_latency(given.authentication or {}, faults)
    faults.refuse()
    provider_id = sandbox.ids.uuid("provider")
    # What may be changed later is set as it is changed, so that both ways agree.
    bare = Provider(
        provider_id=provider_id,
        summary=ProviderSummary(provider_id, provider_type, given.name or ""),
        currency=given.currency or "",
        added=sandbox.now,
    )
    return step.add(bare.after_update(given, latency))


def update(step: Step, provider_id: str, given: ProviderDetails) -> Provider:
    """Change the fields that are given. Raises ``NotFound`` (39), and ``Invalid`` as ``create``
    does, 117 also for a provider that should take over from itself."""
    provider = get(step.sandbox, provider_id)
    faults = Faults()
    if given.fallback_provider_id == provider_id:
        faults.add(
            Code.INVALID_FALLBACK_PROVIDER_ID,
            "FallbackProviderId",
            "a provider cannot take over from itself",
        )
    given = _checked(step.sandbox, given, faults)
    latency = simulated_latency(given.authentication or {}, faults)
    faults.refuse()
    return step.change(provider, provider.after_update(given, latency), "updated")


def _checked(sandbox: Sandbox, given: ProviderDetails, faults: Faults) -> ProviderDetails:
    """What is given, checked and in the words of the service: both environments and currencies
    come in any letter case."""
    check_costs(given.costs, faults)
    environment = None
    if given.environment:
        environment = given.environment.upper()
        if environment not in ENVIRONMENTS:
            hint = nearest(environment, ENVIRONMENTS)
            faults.wrong("Environment", f"wanted one of {', '.join(ENVIRONMENTS)}{hint}")
    code = None
    if given.currency:
        money = faults.attempt(currency, given.currency)
        code = money.code if money is not None else None
    fallback = given.fallback_provider_id
    if fallback is not None and known(sandbox, fallback) is None:
        faults.add(
            Code.INVALID_FALLBACK_PROVIDER_ID, "FallbackProviderId", unknown(sandbox, fallback)
        )
    return replace(given, environment=environment, currency=code)


def delete(step: Step, provider_id: str) -> Provider:
    """Remove a provider from use. What it charged stays, and can still be captured, voided and
    refunded: the money is with it. Raises ``NotFound`` (39)."""
    provider = get(step.sandbox, provider_id)
    return step.change(provider, provider.after_removal(), "removed")


def known(sandbox: Sandbox, provider_id: str | None) -> Provider | None:
    """The provider of an id, while it is in use."""
    provider = sandbox.providers.get(provider_id or "")
    if provider is None or provider.state is Presence.REMOVED:
        return None
    return provider


def get(sandbox: Sandbox, provider_id: str) -> Provider:
    """A provider by the id in a path. Raises ``NotFound`` (39)."""
    provider = known(sandbox, provider_id)
    if provider is None:
        raise NotFound(Code.INVALID_PROVIDER_ID, {"ProviderId": unknown(sandbox, provider_id)})
    return provider


def named(sandbox: Sandbox, provider_id: str, needs: Capability) -> Provider:
    """The provider that a body or query names. Raises ``Invalid`` 39 (unknown), 32, 71, 78, 103
    (lacks the feature)."""
    provider = sandbox.providers.get(provider_id)
    if provider is None or provider.state is Presence.REMOVED:
        raise Invalid(Code.INVALID_PROVIDER_ID, {"ProviderId": unknown(sandbox, provider_id)})
    if needs not in provider.capabilities:
        raise lacks(provider, needs)
    return provider


def first_with(step: Step, feature: Capability, code: str | None) -> Provider:
    """The oldest provider in use with a feature that takes a currency (None: any). Raises
    ``Invalid`` (65)."""
    able = in_use(step.sandbox, feature)
    for provider in taking(step, able, code):
        return provider
    words = f"no provider here has {feature.value}"
    if able:
        words += " in this currency"
    raise Invalid(Code.NO_PROVIDER_FOUND, {"ProviderId": words})


def in_use(sandbox: Sandbox, feature: Capability) -> list[Provider]:
    """The providers in use that have a feature, the oldest first."""
    active = [provider for provider in sandbox.providers if provider.state is Presence.ACTIVE]
    return [provider for provider in active if feature in provider.capabilities]


def taking(step: Step, able: Sequence[Provider], code: str | None) -> Sequence[Provider]:
    """Of some providers those that take a currency (None: any): those that have it, and while none
    has it, all or none (assumption ``provider.other_currency``). A sandbox has one provider unless
    someone configures more: payments in other currencies would all fail there."""
    if code is None:
        return able
    own = [provider for provider in able if provider.currency == code]
    if own or step.assume("provider.other_currency") != "any":
        return own
    return able


def of_checkout(step: Step, checkout: Checkout | None, code: str | None) -> Provider:
    """The oldest provider in use of this checkout that takes the currency ``code`` (None: any
    currency), else one that simulates any checkout, also where none is named. Raises ``Invalid``
    (65, no provider found)."""
    able = in_use(step.sandbox, Capability.CHECKOUT)
    name = Capability.CHECKOUT.value
    own: list[Provider] = []
    if checkout is not None:
        name = checkout.type
        own = [provider for provider in able if provider.summary.type == checkout.type]
    for provider in taking(step, own, code):
        return provider
    # One whose type is no checkout itself, such as the dummy, pretends to be any.
    any_kind = [provider for provider in able if provider.summary.type not in CHECKOUTS]
    for provider in taking(step, any_kind, code):
        return provider
    raise Invalid(Code.NO_PROVIDER_FOUND, {"ProviderId": f"no provider here has {name}"})


def lacks(provider: Provider, feature: Capability) -> Invalid:
    """The refusal (32, 71, 78, 103) of asking a provider for what its type cannot do."""
    words = f"a provider of type {provider.summary.type} has no {feature.value}"
    return Invalid(_LACKS.get(feature, Code.FEATURE_UNAVAILABLE), {"ProviderId": words})


def by_cost(
    step: Step, amount: Decimal, given: Currency | None, card: CardNumber
) -> list[Provider]:
    """Providers that take the card and the currency, the cheapest first (settled fact
    ``least_cost``). Raises ``Invalid`` (63) when there is none.

    Without a currency, that of the assumption ``currency.default`` counts, else that of the oldest
    provider of cards: prices are compared in one currency.
    """
    able: Sequence[Provider] = in_use(step.sandbox, Capability.CARD)
    if able:
        # Only without a currency is the assumption asked: it is noted as one that shaped the step.
        usual = CURRENCIES.get(step.assume("currency.default")) if given is None else None
        money = given or usual or CURRENCIES[able[0].currency]
        able = taking(step, able, money.code)
    if not able:
        words = "no provider takes this card in this currency"
        raise Invalid(Code.NO_CARD_PROVIDERS_CONFIGURED, {"Currency": words})

    def price(provider: Provider) -> tuple[bool, Decimal]:
        cost = provider.cost_of(amount, money, card)
        # Nobody knows whether one without a price is cheap: it comes last.
        return (True, ZERO) if cost is None else (False, cost)

    # Sorting leaves equal ones in their order, the oldest first.
    return sorted(able, key=price)


def unknown(sandbox: Sandbox, provider_id: str) -> str:
    """What to say of an id that names no provider in use."""
    ids = [
        provider.provider_id for provider in sandbox.providers if provider.state is Presence.ACTIVE
    ]
    return f"no provider '{provider_id[:64]}' in this sandbox{nearest(provider_id, ids)}"


def ask(
    step: Step,
    op: str,
    provider: Provider,
    instrument: Instrument,
    source: str,
    *,
    also: str | None = None,
    number: int = 1,
) -> Outcome:
    """What happens when a provider is asked to act on an instrument. A scripted latency is added to
    the step's; to act on a charge takes that of the provider's settings otherwise, or of the
    assumption ``provider.latency``.

    Raises ``Unreached`` when a rule stops the operation before anything has happened.
    """
    asked, card, bank = step.asked, instrument.card, instrument.bank
    attempt = step.attempt(
        op,
        also=also,
        source=source,
        provider=provider.provider_id,
        attempt=number,
        card=card.number if card else None,
        # What rules count by, unless they name a key: the stored method, else the card.
        subject=instrument.payment_method_id or (card.number.fingerprint if card else None),
        row=asked.row,
        bank_account=bank.account_number if bank else None,
    )
    decision = step.ask(Stage.PROVIDER, attempt)
    fault = decision.outcome.transport
    # Work that time causes has no connection that a fault could break.
    if fault is not None and fault.at is At.RECEIVE and step.asked.answers:
        if not fault.goes_on:
            raise Unreached(fault)
        # One that only slows the call, which is acted on all the same.
        step.result.latency += fault.delay
    slowing = decision.slowing if decision.rule is not None else None
    if slowing is not None:
        step.result.latency += slowing.delay
    elif op.startswith("charge."):
        step.result.latency += _usual_latency(step, provider)
    return decision.outcome


def _usual_latency(step: Step, provider: Provider) -> Micros:
    """How long a provider takes that no rule slows: a time drawn from its range, so that a client
    meets answers in another order than its calls."""
    shortest, longest = provider.latency or step.assume("provider.latency")
    if longest <= shortest:
        # Most take no time at all, and a draw would cost more than the rest of this.
        only: Micros = shortest
        return only
    drawn: Micros = shortest + step.sandbox.draw("provider_latency", longest - shortest + 1)
    return drawn


def refuse_declined(outcome: Outcome, refusal: Code | None = None) -> None:
    """Raises ``ProviderRefused`` when the provider declined: in its own words, or with the
    operation's ``refusal`` and its words as details; a code or message that the scenario itself
    gives counts before both."""
    decline = outcome.provider
    if not isinstance(decline, Decline):
        return
    words = decline.error_message
    details = {"Provider": words}
    if refusal is None:
        # The class wants a code of the service: the provider's own is what is answered.
        refused = ProviderRefused(Code.TOKENISE_CARD_ERROR, details, message=words)
        refused.own_code = decline.error_code
    else:
        is_worded_by_rule = decline.own_code is not None or decline.own_message is not None
        # Without words of a rule the message is that of the operation's code.
        message = words if is_worded_by_rule else None
        refused = ProviderRefused(refusal, details, message=message)
        refused.own_code = decline.own_code
    refused.gateway_code = decline.gateway_code
    refused.gateway_message = decline.gateway_message
    refused.is_retryable = decline.is_retryable
    raise refused


PAYPAL = "paypal"


@record
class Offer:
    """The providers that take a payment, by feature, in the order of their configuration."""

    able: Mapping[Capability, Sequence[Provider]]
    card_provider: Provider | None

    @property
    def paypal(self) -> list[Provider]:
        """Those of PayPal, for which a checkout page has a button of its own."""
        checkouts = self.able[Capability.CHECKOUT]
        return [provider for provider in checkouts if provider.summary.type == PAYPAL]

    @property
    def pay_later(self) -> list[Provider]:
        """Those that are nothing but a checkout of their own."""
        checkouts = self.able[Capability.CHECKOUT]
        others = [provider for provider in checkouts if provider.summary.type != PAYPAL]
        # One that takes cards simulates checkouts too, and is none.
        return [provider for provider in others if Capability.CARD not in provider.capabilities]


def offer(
    step: Step, amount: Decimal | None, given: str | None, card_provider_id: str | None
) -> Offer:
    """What is offered for an amount and a currency; without them, everything in use that no row
    hides. Raises ``Invalid`` 29 (currency), 39 and 32 (card provider)."""
    code = None
    if given:
        code = currency(given).code
    able: dict[Capability, Sequence[Provider]] = {}
    for feature in Capability:
        having = in_use(step.sandbox, feature)
        offered = [provider for provider in having if provider.is_offered(amount, code)]
        able[feature] = taking(step, offered, code)
    if card_provider_id:
        return Offer(able, named(step.sandbox, card_provider_id, Capability.CARD))
    oldest_for_cards = next(iter(able[Capability.CARD]), None)
    return Offer(able, oldest_for_cards)


def default_fallback(sandbox: Sandbox) -> Provider:
    """The provider that takes over where none is configured to: the first in use that takes cards.
    Raises ``NotFound`` (65)."""
    for provider in in_use(sandbox, Capability.CARD):
        return provider
    raise NotFound(Code.NO_PROVIDER_FOUND, {"Provider": "no provider of this sandbox takes cards"})
