"""Payment-token use cases: make, use, expire, read, list.

A browser exchanges card details for a token, so that a shop's server never sees a card number; the
server pays or stores with the token. It belongs to one provider, which may refuse the card when the
token is made, and works for a time and a number of uses.

Sources: docs/spec/service.md, What the service does, 4; docs/spec/published-facts.md, 1.1 rows
50-54, 2.8; assumptions ``token.lifetime``, ``token.uses``.
"""

from mockserver.domain.cards import Card
from mockserver.domain.codes import Code
from mockserver.domain.commands import NewCardToken, NewPayToMethod
from mockserver.domain.errors import Faults, Invalid, invalid
from mockserver.domain.money import ZERO, Currency, currency
from mockserver.domain.provider import Capability, Provider
from mockserver.domain.record import replace
from mockserver.domain.sources import Instrument
from mockserver.domain.states import TokenEvent, TokenState
from mockserver.domain.token import Token
from mockserver.domain.vault import check_expiry
from mockserver.engine import intake, payto, providers, vault
from mockserver.engine.schedule import Due
from mockserver.engine.step import Step, finder, unknown
from mockserver.scenario.provider_outcome import Challenge

OP = "token.create"

get = finder(Token, Code.INVALID_TOKEN_ID)
"""A token, used and expired ones included. Raises ``NotFound`` (87)."""


def create_from_card(step: Step, command: NewCardToken) -> Token:
    """Make a token from a card, and vault the card when asked to. Raises ``Invalid`` 39 (provider),
    63 (none takes the card), 90, 2 (amount), 29 (currency), 5, 6, 9, 14, 81 (card), 85, 86 (vault
    expiry), or ``ProviderRefused``."""
    faults = Faults()
    details = command.details
    accepted = intake.check_card(step, details, faults)
    checked_card = accepted.card if accepted is not None else None
    provider = faults.attempt(_card_provider, step, command, checked_card, faults)
    expires = check_expiry(command.expiry, step.sandbox.now, faults, with_card=True)
    # Raises with all faults: what is None has left one.
    card, instrument = faults.sure(accepted)
    provider, details = faults.sure(provider), faults.sure(details)
    # Nothing may be stored before the provider has agreed.
    outcome = providers.ask(step, OP, provider, instrument, "card")
    providers.refuse_declined(outcome)
    verified = bool(details.three_ds_server_trans_id or details.external_three_ds)
    vault_id = None
    if command.vault_card:
        item = vault.store(step, card.number, details.number or "", details.ccv, expires)
        vault_id = item.vault_id
    token = replace(
        _new(step, instrument, provider),
        ip=command.ip,
        metadata=command.metadata,
        vault_id=vault_id,
        verified=verified,
        # A payer who has passed 3-D Secure in the shop's own page is not challenged again.
        challenged=isinstance(outcome.provider, Challenge) and not verified,
    )
    return _store(step, token)


def create_from_payto(step: Step, command: NewPayToMethod) -> Token:
    """Make a token from a PayTo agreement. Raises ``Invalid`` 39, 32 (provider), 90, or
    ``ProviderRefused``."""
    provider = payto.check(step.sandbox, command)
    providers.refuse_declined(providers.ask(step, OP, provider, payto.INSTRUMENT, "token"))
    agreement = payto.store(step, command, provider)
    token = replace(
        _new(step, payto.INSTRUMENT, provider),
        payto_id=agreement.payto_id,
        ip=command.terms.ip,
        metadata=command.terms.metadata,
    )
    return _store(step, token)


def usable(step: Step, token_id: str) -> Token:
    """The token that a request wants to use. Raises ``Invalid`` (51: unknown, used up or
    expired)."""
    token = step.sandbox.tokens.get(token_id)
    if token is None:
        raise Invalid(Code.INVALID_OR_EXPIRED_TOKEN, {"Token": unknown("token", token_id)})
    if token.state is not TokenState.ACTIVE:
        why = "was used before" if token.state is TokenState.USED else "has expired"
        raise Invalid(Code.INVALID_OR_EXPIRED_TOKEN, {"Token": f"this token {why}"})
    step.result.about["token"] = token
    return token


def use(step: Step, token: Token) -> None:
    """One use of a token that ``usable`` gave; after the last one it is used up. A declined payment
    uses it too, as the provider has seen it."""
    after = token.after_use(step.sandbox.now)
    event = TokenEvent.USED if after.uses else TokenEvent.USED_UP
    step.change(token, after, event)


def expire(step: Step, token: Token) -> None:
    """A token cannot be used any more. Raises ``WrongState`` (51)."""
    step.change(token, token.after_expiry(), TokenEvent.EXPIRED)


def _card_provider(
    step: Step, command: NewCardToken, card: Card | None, faults: Faults
) -> Provider | None:
    """The provider that is named, else the cheapest one that takes the card; None with a fault.
    ``/token/card`` must name one: without it the id is empty; that of ``least_cost`` is None."""
    if command.provider_id == "":
        raise invalid(
            {"ProviderId": "required: as the header ProviderId, in the query or in the body"}
        )
    if command.provider_id is not None:
        return providers.named(step.sandbox, command.provider_id, Capability.CARD)
    if card is None:
        return None
    money = _money(step, command, faults)
    if faults:
        # Prices depend on the amount and the currency.
        return None
    cheapest, *_ = providers.by_cost(step, command.amount or ZERO, money, card.number)
    return cheapest


def _money(step: Step, command: NewCardToken, faults: Faults) -> Currency | None:
    """The currency of the payment that a token is wanted for, if it names one."""
    if command.amount is not None:
        money = intake.check_amount(step, command.amount, command.currency, faults)
        return money.currency if money is not None else None
    if not command.currency:
        return None
    return faults.attempt(currency, command.currency)


def _new(step: Step, instrument: Instrument, provider: Provider) -> Token:
    """A token of an instrument, which can be used with one provider for a time."""
    sandbox = step.sandbox
    return Token(
        token_id=sandbox.ids.hex24("token"),
        instrument=instrument,
        provider=provider.summary,
        added=sandbox.now,
        expires=sandbox.now + step.assume("token.lifetime"),
        uses=step.assume("token.uses"),
        gateway_token_id="tok_" + sandbox.ids.hex24("gateway_token"),
    )


def _store(step: Step, token: Token) -> Token:
    """Keep a token, and plan its expiry."""
    step.sandbox.schedule.plan(token.expires, Due.TOKEN_EXPIRY, token.token_id)
    return step.add(token)
