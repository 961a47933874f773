"""Charge use cases: take, capture, void, refund, settle, expire, find.

Sources: docs/spec/service.md, Charges, and States and transitions; assumptions ``charge.*``, ``failover``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import TypeAlias

from mockserver.assumptions.table import (
    AUTHORISATION_EXPIRES_AFTER,
    BATCH_THREE_DS,
    CAPTURE_AMOUNT,
    CHALLENGE_EXPIRES_AFTER,
    FAILOVER,
    PENDING_REFUND,
    PENDING_SETTLES_AFTER,
    PENDING_TYPES,
    REFUND_AMOUNT,
    SUBSCRIPTION_THREE_DS,
)
from mockserver.domain.charge import ZERO, Charge, FailedAttempt
from mockserver.domain.clock import Micros
from mockserver.domain.codes import Code
from mockserver.domain.commands import NewCharge
from mockserver.domain.errors import Faults, WrongState
from mockserver.domain.events import Subject
from mockserver.domain.money import CURRENCIES, cut
from mockserver.domain.provider import Capability
from mockserver.domain.sources import PaymentType, TokenSource
from mockserver.domain.states import CHARGE, ChargeEvent, ChargeState
from mockserver.engine import amount_check, asking, charge_effects, providers, routing, sources, tokens, vault
from mockserver.engine.amount_check import Money
from mockserver.engine.lookup import found
from mockserver.engine.routing import ProviderRoute
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.engine.sources import ChargePlan
from mockserver.engine.step import Step
from mockserver.scenario.outcome import Outcome
from mockserver.scenario.provider_outcome import Approve, Challenge, Decline, Pending, Settlement

_AUTHORISED, _PAID, _PENDING = ChargeEvent.AUTHORISED, ChargeEvent.PAID, ChargeEvent.PENDING
_CHALLENGED, _DECLINED = ChargeEvent.CHALLENGED, ChargeEvent.DECLINED
_CHARGE, _UNKNOWN = Subject.CHARGE, Code.INVALID_CHARGE_ID

_NOBODY = Decline(
    "three_ds_challenge", Code.REQUIRE_THREE_D_SECURE, Code.REQUIRE_THREE_D_SECURE.message, None, None, False
)
"""A challenge without a payer to answer it."""

_UNATTENDED = {"batch": (BATCH_THREE_DS, "row_fails"), "subscription": (SUBSCRIPTION_THREE_DS, "payment_fails")}
"""Sources whose payer is not there: whether a payment that asks for 3-D Secure fails or is charged without."""

_SLOW = frozenset({PaymentType.BANK_ACCOUNT, PaymentType.PAYTO})
"""Types whose provider answers later when no scenario says otherwise (assumption ``charge.pending_types``)."""


def create(step: Step, command: NewCharge) -> Charge:
    """Take a payment or authorise one, trying the next provider after each retryable failure.

    A payment that every provider declined is stored too, as ``FAILED``. Raises ``Invalid`` with all faults of the
    command.
    """
    faults = Faults()
    money = amount_check.check(step, command.amount, command.currency, faults)
    begun = sources.plan(step, command, money.currency if money else None, faults)
    if money is None and begun is not None and not faults:
        own = CURRENCIES[begun.provider.currency]
        money = amount_check.of_currency(step, command.amount, own, faults)
    transfer = command.source.transfer if isinstance(command.source, TokenSource) else None
    if transfer is not None:
        amount_check.check_transfer(transfer, command.amount, money.currency if money else None, faults)
    if begun is not None and not command.capture and Capability.AUTHORISE not in begun.provider.capabilities:
        faults.add(*providers.lacks(begun.provider, Capability.AUTHORISE))
    if faults:
        faults.refuse()
    if begun is None or money is None:
        raise RuntimeError("a charge without a route passed its checks")
    return _store(step, command, begun, _try_routes(step, command, begun), money)


def capture(step: Step, charge_id: str, amount: Decimal | None) -> Charge:
    """Complete an authorised charge. Raises ``NotFound`` 84, ``WrongState`` 54, ``Invalid`` 74, 2, 77, 78,
    ``ProviderRefused``."""
    sandbox = step.sandbox
    charge = get(step, charge_id)
    step.assume(CAPTURE_AMOUNT)
    after = charge.after_capture(amount, sandbox.now)
    if after.amount != charge.amount:
        _require(sandbox, charge, Capability.PARTIAL_CAPTURE)
    pending = _consult(step, "charge.capture", charge, Code.UNABLE_TO_CAPTURE)
    if pending is None:
        return move(step, charge, after, ChargeEvent.CAPTURED)
    _await(step, charge_id, pending, (Due.SETTLEMENT, Due.RETURN))
    waits = charge.after_capture(amount, sandbox.now, ChargeEvent.PENDING)
    return move(step, charge, waits, ChargeEvent.PENDING)


def void(step: Step, charge_id: str) -> Charge:
    """Cancel an authorised charge. Raises ``NotFound`` 84, ``WrongState`` 54, ``ProviderRefused``."""
    charge = get(step, charge_id)
    after = charge.after_void(ChargeEvent.VOIDED, step.sandbox.now)
    _consult(step, "charge.void", charge, Code.UNABLE_TO_VOID)
    return move(step, charge, after, ChargeEvent.VOIDED)


def refund(step: Step, charge_id: str, amount: Decimal | None, comment: str | None) -> Charge:
    """Give money back. Raises ``NotFound`` 84, ``WrongState`` 54, ``Invalid`` 74, 2, 76, ``ProviderRefused``."""
    sandbox = step.sandbox
    charge = get(step, charge_id)
    step.assume(REFUND_AMOUNT)
    wanted = charge.refund_of(amount, comment, sandbox.now, None)
    if charge.after_refund(wanted).status is not ChargeState.REFUND:
        _require(sandbox, charge, Capability.PARTIAL_REFUND)
    pending = _consult(step, "charge.refund", charge, Code.UNABLE_TO_REFUND)
    if pending is None:
        return give_back(step, charge, charge.after_refund(wanted))
    wanted = replace(wanted, settles=sandbox.now + _wait_of(step, pending))
    _await(step, charge_id, pending, (Due.REFUND_SETTLEMENT, Due.REFUND_RETURN), wanted.mark)
    if step.assume(PENDING_REFUND) == "at_once":
        return give_back(step, charge, charge.after_refund(wanted))
    return step.replace(sandbox.charges, charge, charge.after_reserving(wanted))


def get(step: Step, charge_id: str) -> Charge:
    """A charge. Raises ``NotFound`` (84)."""
    return found(step, step.sandbox.charges, "charge", charge_id, _UNKNOWN)


def settle(step: Step, charge_id: str, event: ChargeEvent) -> None:
    """The provider of a pending charge has its answer: ``SETTLED`` or ``RETURNED``."""
    sandbox = step.sandbox
    charge = sandbox.charges.get(charge_id)
    if charge is not None and charge.status is ChargeState.PENDING:
        move(step, charge, charge.after_settlement(event, sandbox.now), event)


def answer_refund(step: Step, charge_id: str, mark: str, *, settled: bool) -> None:
    """The provider of a refund that was pending has its answer."""
    sandbox = step.sandbox
    charge = sandbox.charges.get(charge_id)
    try:
        after = None if charge is None else charge.after_answer(mark, settled=settled)
    except WrongState as refused:
        step.result.warnings += (f"a pending refund of charge {charge_id} did not happen: {refused.message}",)
        return
    if charge is None or after is None:
        return
    if after.refunded == charge.refunded:
        step.replace(sandbox.charges, charge, after)
    elif settled:
        give_back(step, charge, after)
    else:
        move(step, charge, after, ChargeEvent.REFUND_FAILED if after.refunds else ChargeEvent.LAST_REFUND_FAILED)


def expire(step: Step, charge_id: str) -> None:
    """An authorisation was not captured in time."""
    sandbox = step.sandbox
    charge = sandbox.charges.get(charge_id)
    if charge is not None and charge.status is ChargeState.AUTHORISED:
        move(step, charge, charge.after_void(ChargeEvent.EXPIRED, sandbox.now), ChargeEvent.EXPIRED)


def _named(command: NewCharge) -> tuple[str, str | None]:
    """The name of the source that rules see, and the second name of the step that it gives."""
    if command.batch_id is not None:
        return "batch", "batch.row"
    if command.subscription_id is not None:
        return "subscription", "subscription.renew"
    if command.payment_link_id is not None:
        return "payment_link", "payment_link.pay"
    return command.source.word, None


_Verdict: TypeAlias = tuple[ProviderRoute, Outcome, tuple[FailedAttempt, ...]]
"""What the providers said: the last route tried, its outcome, and the tries that failed."""


def _try_routes(step: Step, command: NewCharge, begun: ChargePlan) -> _Verdict:
    source, also = _named(command)
    failed: list[FailedAttempt] = []
    scripted = step.asked.scripted
    ways: Iterator[ProviderRoute] | None = None
    route: ProviderRoute | None = begun
    while route is not None:
        tried = route
        if scripted is None:
            outcome = ask_provider(step, "charge.create", tried, source, also=also, number=len(failed) + 1)
        else:
            outcome = Outcome(provider=scripted)
        if isinstance(outcome.provider, Challenge) and source in _UNATTENDED:
            assumption, fails = _UNATTENDED[source]
            outcome = replace(outcome, provider=_NOBODY if step.assume(assumption) == fails else Approve())
        decline = outcome.provider
        if not isinstance(decline, Decline):
            break
        failed.append(failed_attempt(step.sandbox, tried.provider.provider_id, decline))
        if not decline.is_retryable or step.assume(FAILOVER) == "never":
            break
        ways = ways or routing.others(step, begun, begun.others, command.amount)
        route = next(ways, None)
    return tried, outcome, tuple(failed)


def failed_attempt(sandbox: Sandbox, provider_id: str, decline: Decline) -> FailedAttempt:
    """A try of a provider that said no just now."""
    return FailedAttempt(
        provider_id=provider_id,
        attempted=sandbox.now,
        error_code=decline.error_code,
        error_message=decline.error_message,
        gateway_code=decline.gateway_code,
        gateway_message=decline.gateway_message,
        is_retryable=decline.is_retryable,
    )


def ask_provider(
    step: Step, op: str, route: ProviderRoute, source: str, *, also: str | None = None, number: int = 1
) -> Outcome:
    """What the rules let a provider say to a step of a charge; the time it takes is added to the step's latency."""
    outcome = asking.ask(step, op, route.provider, route.instrument, source, also=also, number=number)
    if outcome.latency is None:
        step.result.latency += providers.latency_of(step, route.provider)
    return outcome


def _store(step: Step, command: NewCharge, begun: ChargePlan, verdict: _Verdict, money: Money) -> Charge:
    sandbox = step.sandbox
    (route, outcome, failed), amount = verdict, money.amount
    event = _event_of(step, command, begun, route, outcome)
    if outcome.provider is not None and (approved := outcome.provider.approved(amount)) is not amount:
        amount = cut(approved, money.currency)
    instrument = route.instrument
    card = instrument.card
    payer = sources.payer_of(command.payer, begun.payer)
    if begun.token is not None:
        tokens.use(step, begun.token)
    charge_id = sandbox.ids.hex32("charge")
    declined = event is _DECLINED
    challenged = event is _CHALLENGED
    # In the order of the fields: every charge is made here, and 33 keywords would take 2.1 us instead of 0.9.
    charge = sandbox.charges.add(
        Charge(
            charge_id,
            None if declined else provider_charge_id(charge_id),
            amount,
            money.currency.code,
            CHARGE.begin(event),
            route.provider.summary,
            instrument,
            sandbox.now,
            command.reference,
            command.email or (payer.email if payer else None),
            begun.instrument.customer_id,
            payer,
            None if declined else amount,
            command.capture,
            ZERO,
            (),
            failed,
            sandbox.now if event is _PAID else None,
            None,
            route.provider.cost_of(amount, money.currency, card.number if card else None),
            begun.verified,
            card.three_ds_server_trans_id if card else None,
            challenged,
            command.three_ds_notification_url,
            command.initiator,
            command.ip,
            command.descriptor,
            command.subscription_id,
            command.batch_id,
            command.payment_link_id,
            command.metadata,
            command.webhook,
            command.source.transfer if isinstance(command.source, TokenSource) else None,
        )
    )
    step.result.about["charge"] = charge
    step.emit(_CHARGE, charge_id, event, None, charge.status)
    follow_up(step, charge, event, route, outcome)
    charge_effects.follow(step, charge, None)
    return charge


def provider_charge_id(charge_id: str) -> str:
    """The id that a provider gives a charge."""
    return "ch_" + charge_id[:-25:-1]


def _answers_later(step: Step) -> bool:
    return step.assume(PENDING_TYPES) == "bank_account_and_payto"


def _event_of(step: Step, command: NewCharge, begun: ChargePlan, route: ProviderRoute, outcome: Outcome) -> ChargeEvent:
    said = outcome.provider
    if said is None:
        slow = command.capture and route.instrument.type in _SLOW and _answers_later(step)
        event = _PENDING if slow else None
    else:
        event = None if said.event is _CHALLENGED and begun.verified else said.event
    return event or (_PAID if command.capture else _AUTHORISED)


def follow_up(step: Step, charge: Charge, event: ChargeEvent, route: ProviderRoute, outcome: Outcome) -> None:
    """Plan what time will do to a charge that has just begun or was just paid, and spend the ccv of its card."""
    sandbox = step.sandbox
    if event is _AUTHORISED:
        due = sandbox.now + step.assume(AUTHORISATION_EXPIRES_AFTER)
        sandbox.schedule.plan(due, Due.AUTHORISATION_EXPIRY, charge.charge_id)
    elif event is _PENDING:
        pending = outcome.provider if isinstance(outcome.provider, Pending) else Pending()
        _await(step, charge.charge_id, pending, (Due.SETTLEMENT, Due.RETURN))
    elif event is _CHALLENGED:
        sandbox.schedule.plan(
            sandbox.now + step.assume(CHALLENGE_EXPIRES_AFTER), Due.CHALLENGE_EXPIRY, charge.charge_id
        )
    card = charge.instrument.card
    if card is not None and sandbox.vault.rows and event in _PAYMENTS:
        token_id = charge.instrument.token_id
        held = route.method or (sandbox.tokens.get(token_id) if token_id else None)
        vault.spend_ccv(step, card.number, held.vault_id if held else None)


def _wait_of(step: Step, pending: Pending) -> Micros:
    return pending.after if pending.after is not None else step.assume(PENDING_SETTLES_AFTER)


def _await(step: Step, charge_id: str, pending: Pending, ends: tuple[Due, Due], detail: str = "") -> None:
    """Plan the answer of a provider that gives it later: one of two ``ends``, a good and a bad one."""
    sandbox = step.sandbox
    what = ends[0] if pending.settle is Settlement.SUCCESS else ends[1]
    sandbox.schedule.plan(sandbox.now + _wait_of(step, pending), what, charge_id, detail)


_PAYMENTS = frozenset({ChargeEvent.AUTHORISED, ChargeEvent.PAID, ChargeEvent.PENDING})
"""What counts as a payment that occurred (service document, What the service does, 8)."""


def _consult(step: Step, op: str, charge: Charge, refusal: Code) -> Pending | None:
    """Ask the provider of a charge; what it says when it answers later."""
    provider = step.sandbox.providers.get(charge.provider.provider_id)
    if provider is None:
        return None
    outcome = ask_provider(step, op, ProviderRoute(provider, charge.instrument), "charge")
    asking.refuse_declined(outcome, refusal)
    return outcome.provider if isinstance(outcome.provider, Pending) else None


def _require(sandbox: Sandbox, charge: Charge, feature: Capability) -> None:
    provider = sandbox.providers.get(charge.provider.provider_id)
    if provider is not None:
        providers.require(provider, feature)


def give_back(step: Step, before: Charge, after: Charge) -> Charge:
    """A charge after a refund of a part or of all that was left."""
    full = after.status is ChargeState.REFUND
    return move(step, before, after, ChargeEvent.FULLY_REFUNDED if full else ChargeEvent.PARTLY_REFUNDED)


def move(step: Step, before: Charge, after: Charge, event: ChargeEvent) -> Charge:
    """Keep a charge as it is after an event, and let follow what its move means for others."""
    step.replace(step.sandbox.charges, before, after)
    step.emit(Subject.CHARGE, after.charge_id, event, before.status, after.status)
    charge_effects.follow(step, after, before.status)
    return after
