"""Charge use cases: take, capture, void, refund, settle, expire, find.

Sources: docs/spec/service.md, Charges, and States and transitions; assumptions ``charge.*``,
``failover``.
"""

from dataclasses import replace
from decimal import Decimal
from typing import TypeAlias

from mockserver.domain.batch import RowFailure
from mockserver.domain.charge import Charge, FailedAttempt, Payer
from mockserver.domain.clock import Micros
from mockserver.domain.codes import Code
from mockserver.domain.commands import NewCharge, NewTransfer, NewTransferGroup
from mockserver.domain.errors import Faults, Refused, WrongState
from mockserver.domain.money import CURRENCIES, Money, cut
from mockserver.domain.provider import Capability
from mockserver.domain.record import made_of, record, updated
from mockserver.domain.sources import (
    CheckoutTransfer,
    Initiator,
    MethodSource,
    PaymentType,
    TokenSource,
)
from mockserver.domain.states import CHARGE, ChargeEvent, ChargeState, SubscriptionEvent
from mockserver.domain.subscription import Subscription
from mockserver.engine import intake, providers, sources, subscriptions, tokens, transfers, vault
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due
from mockserver.engine.sources import ChargePlan, ProviderRoute
from mockserver.engine.step import Step, finder
from mockserver.scenario.outcome import Outcome
from mockserver.scenario.provider_outcome import (
    REFUSALS,
    Approve,
    Challenge,
    Decline,
    Pending,
    Settlement,
)

get = finder(Charge, Code.INVALID_CHARGE_ID)
"""A charge. Raises ``NotFound`` (84)."""


@record
class Origin:
    """What asks for a charge: its ``source`` in rules, and the second name of a step that no client
    asks for. Where no payer is there, the ``assumption`` says whether a charge that asks for 3-D
    Secure ``fails``, or is charged without."""

    source: str
    op: str | None = None
    assumption: str | None = None
    fails: str = ""


_RENEWAL = Origin("subscription", "subscription.renew", "subscription.three_ds", "payment_fails")

_TAKEN = frozenset({ChargeState.PENDING, ChargeState.SUCCESS})
_PAID = _TAKEN | {ChargeState.AUTHORISED}
_UNPAID = frozenset({None, ChargeState.PENDING_CHECKOUT, ChargeState.AUTHORISED})
"""Between which states a payment occurs (service document, What the service does, 8): a sale, an
authorisation, a passed challenge, a capture."""

_RETURNED = RowFailure("The payment was returned after the transaction had been processed")

_SLOW = frozenset({PaymentType.BANK_ACCOUNT, PaymentType.PAYTO})
"""Types whose provider answers later when no scenario says otherwise (assumption
``charge.pending_types``)."""


def create(step: Step, command: NewCharge, origin: Origin | None = None) -> Charge:
    """Take a payment or authorise one, trying the next provider after each retryable failure.

    A payment that every provider declined is stored too, as ``FAILED``. Raises ``Invalid`` with all
    faults of the command.
    """
    faults = Faults()
    money = intake.check_amount(step, command.amount, command.currency, faults)
    plan = sources.plan(step, command, money.currency if money else None, faults)
    if money is None and plan is not None and not faults:
        own = CURRENCIES[plan.provider.currency]
        money = intake.check_amount(step, command.amount, own, faults)
    transfer = command.source.transfer if isinstance(command.source, TokenSource) else None
    if transfer is not None:
        intake.check_transfer(transfer, command.amount, money.currency if money else None, faults)
    if (
        plan is not None
        and not command.capture
        and Capability.AUTHORISE not in plan.provider.capabilities
    ):
        faults.absorb(providers.lacks(plan.provider, Capability.AUTHORISE))
    if faults or plan is None or money is None:
        plan, money = faults.sure(plan), faults.sure(money)
    verdict = _try_routes(step, command, plan, origin or Origin(command.source.word))
    return _store(step, command, plan, verdict, money)


def capture(step: Step, charge_id: str, amount: Decimal | None) -> Charge:
    """Complete an authorised charge. Raises ``NotFound`` 84, ``WrongState`` 54, ``Invalid`` 74, 2,
    77, 78, ``ProviderRefused``."""
    charge = get(step, charge_id)
    after = captured(step, charge, amount)
    if after.amount != charge.amount:
        _require(step.sandbox, charge, Capability.PARTIAL_CAPTURE)
    pending = _consult(step, "charge.capture", charge)
    if pending is None or charge.captures:
        return move(step, charge, after, capturing(charge))
    _plan_settlement(step, charge_id, pending, (Due.SETTLEMENT, Due.RETURN))
    waits = charge.after_capture(amount, step.sandbox.now, ChargeEvent.PENDING)
    return move(step, charge, waits, ChargeEvent.PENDING)


def captured(step: Step, charge: Charge, amount: Decimal | None) -> Charge:
    """The charge as it is after a capture. Raises as ``Charge.after_capture``."""
    keeps_rest = step.assume("charge.capture_amount") == "several"
    return charge.after_capture(amount, step.sandbox.now, keeps_rest=keeps_rest)


def capturing(charge: Charge) -> ChargeEvent:
    """The event of a capture: the first one, or one of what was kept."""
    return ChargeEvent.CAPTURED if charge.kept is None else ChargeEvent.CAPTURED_MORE


def void(step: Step, charge_id: str) -> Charge:
    """Cancel an authorised charge, or what is still held of one. Raises ``NotFound`` 84,
    ``WrongState`` 54, ``ProviderRefused``."""
    charge = get(step, charge_id)
    charge.after_void(ChargeEvent.VOIDED, step.sandbox.now)
    _consult(step, "charge.void", charge)
    return let_go(step, charge, ChargeEvent.VOIDED)


def let_go(step: Step, charge: Charge, event: ChargeEvent) -> Charge:
    """Cancel an authorised charge, or release what is still held of one. Raises ``WrongState``
    54."""
    after = charge.after_void(event, step.sandbox.now)
    return move(step, charge, after, event if charge.kept is None else ChargeEvent.REST_RELEASED)


def refund(step: Step, charge_id: str, amount: Decimal | None, comment: str | None) -> Charge:
    """Give money back. Raises ``NotFound`` 84, ``WrongState`` 54, ``Invalid`` 74, 2, 76,
    ``ProviderRefused``."""
    sandbox = step.sandbox
    charge = get(step, charge_id)
    wanted = charge.refund_of(amount, comment, sandbox.now)
    if charge.after_refund(wanted).status is not ChargeState.REFUND:
        _require(sandbox, charge, Capability.PARTIAL_REFUND)
    pending = _consult(step, "charge.refund", charge)
    if pending is None:
        return give_back(step, charge, charge.after_refund(wanted))
    wanted = replace(wanted, settles=sandbox.now + _wait_of(step, pending))
    _plan_settlement(
        step, charge_id, pending, (Due.REFUND_SETTLEMENT, Due.REFUND_RETURN), wanted.mark
    )
    if step.assume("charge.pending_refund") == "at_once":
        return give_back(step, charge, charge.after_refund(wanted))
    return step.change(charge, charge.after_reserving(wanted))


def settle(step: Step, charge: Charge, event: ChargeEvent) -> None:
    """The provider of a charge has its answer: ``SETTLED`` or ``RETURNED``. A hold is not paid by a
    good one, but authorised, and lapses like any other, counted from now."""
    if event is ChargeEvent.SETTLED and charge.waits_for_hold():
        event = ChargeEvent.AUTHORISED
    after = move(step, charge, charge.after_settlement(event, step.sandbox.now), event)
    _plan_end(step, after, event)


def answer_refund(step: Step, charge: Charge, mark: str, *, settled: bool) -> None:
    """The provider of a refund that was pending has its answer."""
    try:
        after = charge.after_answer(mark, settled=settled)
    except WrongState as refused:
        step.result.warnings += (
            f"a pending refund of charge {charge.charge_id} did not happen: {refused.message}",
        )
        return
    if after is None:
        return
    if after.refunded == charge.refunded:
        step.change(charge, after)
    elif settled:
        give_back(step, charge, after)
    else:
        move(
            step,
            charge,
            after,
            ChargeEvent.REFUND_FAILED if after.refunds else ChargeEvent.LAST_REFUND_FAILED,
        )


def expire(step: Step, charge: Charge) -> None:
    """An authorisation, or what is still held of one, was not captured in time."""
    if charge.status is ChargeState.AUTHORISED or charge.kept is not None:
        let_go(step, charge, ChargeEvent.EXPIRED)


def renew(step: Step, row: Subscription, awaited: str) -> None:
    """One due payment, if it is the one that is awaited. A payment that cannot even be tried (its
    method or provider is gone) suspends."""
    if awaited != str(row.awaited):
        return
    step.result.about["subscription"] = row
    amount = subscriptions.next_amount(step, row)
    if not amount:
        subscriptions.go_on(step, row)
        return
    step.learn(
        {
            "subscriptionId": row.subscription_id,
            "paymentMethodId": row.payment_method_id,
            "amount": amount,
            "currency": row.currency,
            "metadata": dict(row.metadata or {}),
        }
    )
    payment = NewCharge(
        source=MethodSource(row.payment_method_id),
        amount=amount,
        currency=row.currency,
        initiator=Initiator.MERCHANT,
        webhook=row.webhook,
        metadata=row.metadata,
        subscription_id=row.subscription_id,
    )
    try:
        create(step, payment, _RENEWAL)
    except Refused:
        subscriptions.move(step, row, SubscriptionEvent.SUSPENDED)


_Verdict: TypeAlias = tuple[ProviderRoute, Outcome, tuple[FailedAttempt, ...]]
"""What the providers said: the last route tried, its outcome, and the tries that failed."""


def _try_routes(step: Step, command: NewCharge, plan: ChargePlan, origin: Origin) -> _Verdict:
    failed: list[FailedAttempt] = []
    tried: list[ProviderRoute] = []
    routes: list[ProviderRoute] = [plan, *plan.others]
    while routes:
        route = routes.pop(0)
        tried.append(route)
        outcome = _answer(step, route, origin, len(tried))
        if not isinstance(outcome.provider, Decline):
            break
        failed.append(failed_attempt(step.sandbox, route.provider.provider_id, outcome.provider))
        if not outcome.provider.is_retryable or step.assume("failover") == "never":
            break
        routes = sources.routes_left(step, tried, routes, command.amount)
    return route, outcome, tuple(failed)


def _answer(step: Step, route: ProviderRoute, origin: Origin, number: int) -> Outcome:
    """What the provider of a route says, which is tried as the ``number``-th: by the script of a
    batch, or by rules."""
    if step.asked.scripted is not None:
        outcome = Outcome(provider=step.asked.scripted)
    else:
        provider, instrument = route.provider, route.instrument
        outcome = providers.ask(
            step,
            "charge.create",
            provider,
            instrument,
            origin.source,
            also=origin.op,
            number=number,
        )
    if isinstance(outcome.provider, Challenge) and origin.assumption is not None:
        fails = step.assume(origin.assumption) == origin.fails
        outcome = replace(
            outcome, provider=failed_challenge(Code.REQUIRE_THREE_D_SECURE) if fails else Approve()
        )
    return outcome


def failed_challenge(code: Code) -> Decline:
    """What a payment is declined with whose 3-D Secure challenge was not passed."""
    return Decline("three_ds_challenge", code, code.message, None, None, is_retryable=False)


def failed_attempt(sandbox: Sandbox, provider_id: str, decline: Decline) -> FailedAttempt:
    """A try of a provider that said no just now."""
    return made_of(FailedAttempt, decline, provider_id=provider_id, attempted=sandbox.now)


def _store(
    step: Step, command: NewCharge, plan: ChargePlan, verdict: _Verdict, money: Money
) -> Charge:
    route, outcome, _ = verdict
    said = outcome.provider
    event = _event_of(step, command, plan, route, outcome)
    if said is not None and (approved := said.approved(money.amount)) is not money.amount:
        money = cut(approved, money.currency)
    if plan.token is not None:
        tokens.use(step, plan.token)
    made: list[Charge] = []
    for _ in range(said.copies if isinstance(said, Approve) else 1):
        made.append(step.add(_begun(step, command, plan, verdict, money, event), event))
        follow_up(step, made[-1], event, outcome)
        _follow(step, made[-1], None, is_copy=len(made) > 1)
    # The answer names the first one only.
    step.result.about["charge"] = made[0]
    return made[0]


def _begun(
    step: Step,
    command: NewCharge,
    plan: ChargePlan,
    verdict: _Verdict,
    money: Money,
    event: ChargeEvent,
) -> Charge:
    """The charge that begins by an event: ``money`` is what its provider took or declined. Raises
    ``WrongState`` for an event by which no charge begins."""
    route, _, failed = verdict
    now, provider, instrument = step.sandbox.now, route.provider, route.instrument
    amount, card = money.amount, instrument.card
    charge_id = step.sandbox.ids.hex32("charge")
    payer = _payer(command, plan)
    is_declined = event is ChargeEvent.DECLINED
    is_hold_asked = event is ChargeEvent.PENDING and not command.capture
    return Charge(
        charge_id,
        None if is_declined else "ch_" + charge_id[:-25:-1],
        amount,
        money.currency.code,
        CHARGE.begin(event),
        provider.summary,
        instrument,
        now,
        reference=command.reference,
        email=command.email or (payer.email if payer else None),
        customer_id=plan.instrument.customer_id,
        payer=payer,
        authorised=None if is_declined or is_hold_asked else amount,
        capture=command.capture,
        failed_attempts=failed,
        succeeded=now if event is ChargeEvent.PAID else None,
        estimated_cost=provider.cost_of(amount, money.currency, card.number if card else None),
        three_ds_verified=plan.verified,
        three_ds_server_trans_id=card.three_ds_server_trans_id if card else None,
        challenged=event is ChargeEvent.CHALLENGED,
        three_ds_notification_url=command.three_ds_notification_url,
        initiator=command.initiator,
        ip=command.ip,
        descriptor=command.descriptor,
        subscription_id=command.subscription_id,
        batch_id=command.batch_id,
        payment_link_id=command.payment_link_id,
        metadata=command.metadata,
        webhook=command.webhook,
        transfer=command.source.transfer if isinstance(command.source, TokenSource) else None,
    )


def _payer(command: NewCharge, plan: ChargePlan) -> Payer | None:
    """Who pays: the stored customer, under the names that the request gives."""
    if command.payer is None or plan.payer is None:
        return command.payer or plan.payer
    return updated(plan.payer, command.payer)


def _event_of(
    step: Step, command: NewCharge, plan: ChargePlan, route: ProviderRoute, outcome: Outcome
) -> ChargeEvent:
    said = outcome.provider
    if said is not None:
        event = None if said.event is ChargeEvent.CHALLENGED and plan.verified else said.event
    else:
        slow = command.capture and route.instrument.type in _SLOW
        event = (
            ChargeEvent.PENDING
            if slow and step.assume("charge.pending_types") == "bank_account_and_payto"
            else None
        )
    return event or (ChargeEvent.PAID if command.capture else ChargeEvent.AUTHORISED)


_ENDS = {
    ChargeEvent.AUTHORISED: ("charge.authorisation_expires_after", Due.AUTHORISATION_EXPIRY),
    ChargeEvent.CHALLENGED: ("charge.challenge_expires_after", Due.CHALLENGE_EXPIRY),
}
"""How long a charge may stay as an event has left it, and what ends it then."""


def follow_up(step: Step, charge: Charge, event: ChargeEvent, outcome: Outcome) -> None:
    """Plan what time will do to a charge that has just begun or was just paid."""
    if event is ChargeEvent.PENDING:
        pending = outcome.provider if isinstance(outcome.provider, Pending) else Pending()
        _plan_settlement(step, charge.charge_id, pending, (Due.SETTLEMENT, Due.RETURN))
    _plan_end(step, charge, event)


def _plan_end(step: Step, charge: Charge, event: ChargeEvent) -> None:
    if event in _ENDS:
        assumption, end = _ENDS[event]
        step.sandbox.schedule.plan(
            step.sandbox.now + step.assume(assumption), end, charge.charge_id
        )


def _wait_of(step: Step, pending: Pending) -> Micros:
    return (
        pending.after if pending.after is not None else step.assume("charge.pending_settles_after")
    )


def _plan_settlement(
    step: Step, charge_id: str, pending: Pending, ends: tuple[Due, Due], detail: str = ""
) -> None:
    """Plan the answer of a provider that gives it later: one of two ``ends``, a good and a bad
    one."""
    what = ends[0] if pending.settle is Settlement.SUCCESS else ends[1]
    step.sandbox.schedule.plan(step.sandbox.now + _wait_of(step, pending), what, charge_id, detail)


def _consult(step: Step, op: str, charge: Charge) -> Pending | None:
    """Ask the provider of a charge; what it says when it answers later."""
    provider = step.sandbox.providers.get(charge.provider.provider_id)
    if provider is None:
        return None
    outcome = providers.ask(step, op, provider, charge.instrument, "charge")
    providers.refuse_declined(outcome, REFUSALS.get(op))
    return outcome.provider if isinstance(outcome.provider, Pending) else None


def _require(sandbox: Sandbox, charge: Charge, feature: Capability) -> None:
    provider = sandbox.providers.get(charge.provider.provider_id)
    if provider is not None and feature not in provider.capabilities:
        raise providers.lacks(provider, feature)


def give_back(step: Step, before: Charge, after: Charge) -> Charge:
    """A charge after a refund of a part or of all that was left."""
    full = after.status is ChargeState.REFUND
    return move(
        step, before, after, ChargeEvent.FULLY_REFUNDED if full else ChargeEvent.PARTLY_REFUNDED
    )


def move(step: Step, before: Charge, after: Charge, event: ChargeEvent) -> Charge:
    """Keep a charge as it is after an event, and let follow what its move means for others."""
    step.change(before, after, event)
    _follow(step, after, before.status)
    return after


def _follow(
    step: Step, charge: Charge, before: ChargeState | None, *, is_copy: bool = False
) -> None:
    """What a charge that has gone from ``before`` (None: it is new) to where it is means for other
    objects."""
    if step.sandbox.vault.rows and before in _UNPAID and charge.status in _PAID:
        vault.spend_ccv(step, charge.instrument)
    if charge.payment_link_id is not None:
        link = step.sandbox.payment_links.get(charge.payment_link_id)
        if link is not None:
            step.change(link, link.after_charge(before, charge.status))
    if (
        charge.transfer is not None
        and charge.status is ChargeState.SUCCESS
        and before is not ChargeState.SUCCESS
    ):
        _pass_on(step, charge, charge.transfer)
    if charge.subscription_id is not None:
        subscriptions.follow(step, charge, before, is_copy=is_copy)
    if charge.batch_id is not None and before in _TAKEN and charge.status is ChargeState.FAILED:
        _fail_row(step, charge, charge.batch_id)


def _pass_on(step: Step, charge: Charge, wanted: CheckoutTransfer) -> None:
    """The part of a paid token charge that goes on to another account; never more than was paid."""
    provider = providers.known(step.sandbox, charge.provider.provider_id)
    if provider is None or not wanted.account or wanted.amount is None:
        return
    part = NewTransfer(wanted.account, min(wanted.amount, charge.amount), charge.currency)
    transfers.create(
        step, NewTransferGroup(provider.provider_id, (part,), charge_id=charge.charge_id)
    )


def _fail_row(step: Step, charge: Charge, batch_id: str) -> None:
    """A row of a batch whose payment is returned has failed (assumption ``batch.returned_row``)."""
    batches = step.sandbox.batches
    batch = batches.get(batch_id)
    if batch is None or step.assume("batch.returned_row") != "row_fails":
        return
    place = batch.place_of(charge.charge_id)
    if place is not None:
        with batches.changing(batch):
            batch.return_row(place, _RETURNED)
