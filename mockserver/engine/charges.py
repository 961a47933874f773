"""Charge use cases: take, capture, void, refund, settle, expire, find.

Every use case goes the same way. The request is checked against the charge first, by the ``after_``
method that makes the charge as it will be: it raises where the state or the amount forbids the
call. Only then is the provider asked, as a request that is refused must not reach one. Its answer
may come later (``Pending``): then the charge waits, and an entry of the schedule brings the answer.
Last the new charge takes the place of the old one (``move``), and what it means for others follows:
a vault item loses its ccv, a payment link counts, a subscription goes on, a batch row fails.

What a failed payment leaves is a charge too, ``FAILED``, with each try in its ``failed_attempts``.

Sources: docs/spec/service.md, Charges, and States and transitions; assumptions ``charge.*``,
``failover``.
"""

from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

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
    """What asks for a charge: its ``source`` in rules, and the operation ``op`` by which rules know
    it besides ``charge.create``, where no client asks for it.

    Nobody is there to pass a 3-D Secure challenge of a renewal or of a batch row. ``three_ds`` is
    the assumption that says what becomes of one: with the value ``three_ds_fails`` the payment
    fails, with any other it is charged without. Where ``three_ds`` is None, a payer is there."""

    source: str
    op: str | None = None
    three_ds: str | None = None
    three_ds_fails: str = ""


_RENEWAL = Origin(
    "subscription",
    op="subscription.renew",
    three_ds="subscription.three_ds",
    three_ds_fails="payment_fails",
)

_TAKEN = frozenset({ChargeState.PENDING, ChargeState.SUCCESS})
_BEFORE_PAYMENT = frozenset({None, ChargeState.PENDING_CHECKOUT, ChargeState.AUTHORISED})
_AFTER_PAYMENT = _TAKEN | {ChargeState.AUTHORISED}
"""A payment occurs between a state of the first set (None: there was no charge) and one of the
second: a sale, an authorisation, a passed challenge, a capture. Each removes the ccv (service
document, What the service does, 8)."""

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
    # The amount needs a currency, which may be the provider's; the provider may be chosen by the
    # currency. So the amount is looked at before the plan, and again if only that knew it.
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
        # Raises: what is None has left a fault. Nearly all charges pass, and are not asked.
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
    # A further capture cannot wait: its charge has succeeded with the first one.
    if pending is None or charge.captures:
        return move(step, charge, after, capturing(charge))
    _plan_settlement(step, charge_id, pending)
    waits = charge.after_capture(amount, step.sandbox.now, ChargeEvent.PENDING)
    return move(step, charge, waits, ChargeEvent.PENDING)


def captured(step: Step, charge: Charge, amount: Decimal | None) -> Charge:
    """The charge as it is after a capture. Raises as ``Charge.after_capture``."""
    keeps_rest = step.assume("charge.capture_amount") == "several"
    return charge.after_capture(amount, step.sandbox.now, keeps_rest=keeps_rest)


def capturing(charge: Charge) -> ChargeEvent:
    """The event of a capture: the first one, or one of what was kept."""
    if charge.kept is None:
        return ChargeEvent.CAPTURED
    return ChargeEvent.CAPTURED_MORE


def void(step: Step, charge_id: str) -> Charge:
    """Cancel an authorised charge, or what is still held of one. Raises ``NotFound`` 84,
    ``WrongState`` 54, ``ProviderRefused``."""
    charge = get(step, charge_id)
    # Raises for a charge that cannot be voided, before its provider hears of it.
    charge.after_void(ChargeEvent.VOIDED, step.sandbox.now)
    _consult(step, "charge.void", charge)
    return let_go(step, charge, ChargeEvent.VOIDED)


def let_go(step: Step, charge: Charge, event: ChargeEvent) -> Charge:
    """Cancel an authorised charge, or release what is still held of one. Raises ``WrongState``
    54."""
    after = charge.after_void(event, step.sandbox.now)
    if charge.kept is not None:
        # A part was captured and stays paid, so the charge itself is not cancelled.
        event = ChargeEvent.REST_RELEASED
    return move(step, charge, after, event)


def refund(step: Step, charge_id: str, amount: Decimal | None, comment: str | None) -> Charge:
    """Give money back. Raises ``NotFound`` 84, ``WrongState`` 54, ``Invalid`` 74, 2, 76,
    ``ProviderRefused``."""
    sandbox = step.sandbox
    charge = get(step, charge_id)
    wanted = charge.refund_of(amount, comment, sandbox.now)
    if charge.after_refund(wanted).status is not ChargeState.REFUND:
        # Something stays paid: not every provider can give back a part.
        _require(sandbox, charge, Capability.PARTIAL_REFUND)
    pending = _consult(step, "charge.refund", charge)
    if pending is None:
        return give_back(step, charge, charge.after_refund(wanted))
    wanted = replace(wanted, settles=sandbox.now + _wait_of(step, pending))
    _plan_answer(
        step,
        charge_id,
        pending,
        good=Due.REFUND_SETTLEMENT,
        bad=Due.REFUND_RETURN,
        detail=wanted.mark,
    )
    if step.assume("charge.pending_refund") == "at_once":
        # Clients see it as refunded already; a bad answer takes that back (``answer_refund``).
        return give_back(step, charge, charge.after_refund(wanted))
    # Nobody sees it yet, and its amount cannot be refunded a second time.
    return step.change(charge, charge.after_reserving(wanted))


def settle(step: Step, charge: Charge, event: ChargeEvent) -> None:
    """The provider of a charge has its answer: ``SETTLED`` or ``RETURNED``. A hold is not paid by a
    good one, but authorised, and lapses like any other, counted from now."""
    if event is ChargeEvent.SETTLED and charge.waits_for_hold():
        event = ChargeEvent.AUTHORISED
    after = move(step, charge, charge.after_settlement(event, step.sandbox.now), event)
    _plan_end(step, after, event)


def answer_refund(step: Step, charge: Charge, mark: str, *, settled: bool) -> None:
    """The provider of a refund that was pending has its answer. Time brings it, so nobody can be
    told that the charge has moved on meanwhile (its payment was returned): a warning says so."""
    try:
        after = charge.after_answer(mark, settled=settled)
    except WrongState as refused:
        step.result.warnings += (
            f"a pending refund of charge {charge.charge_id} did not happen: {refused.message}",
        )
        return
    if after is None:
        # It was shown at once and settles now, or is gone: nothing changes.
        return
    if after.refunded == charge.refunded:
        # One that was never shown has failed: its amount is free again, and there is no event.
        step.change(charge, after)
    elif settled:
        give_back(step, charge, after)
    elif after.refunds:
        move(step, charge, after, ChargeEvent.REFUND_FAILED)
    else:
        # Without any refund left it is paid in full again.
        move(step, charge, after, ChargeEvent.LAST_REFUND_FAILED)


def expire(step: Step, charge: Charge) -> None:
    """An authorisation, or what is still held of one, was not captured in time. A charge that was
    captured, voided or refunded has no use for this entry of the schedule."""
    if charge.status is ChargeState.AUTHORISED or charge.kept is not None:
        let_go(step, charge, ChargeEvent.EXPIRED)


def renew(step: Step, row: Subscription, awaited: str) -> None:
    """One due payment, if it is the one that is awaited. A payment that cannot even be tried (its
    method or provider is gone) suspends."""
    if awaited != str(row.awaited):
        # A pause, a change or a failure has planned another one in the place of this.
        return
    step.result.about["subscription"] = row
    amount = subscriptions.next_amount(step, row)
    if not amount:
        # The amount that ends it leaves room for none: this completes it.
        subscriptions.go_on(step, row)
        return
    # Rules and the journal see the payment as if a client had asked for it.
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
        # What becomes of the charge moves the subscription on (``subscriptions.follow``).
        create(step, payment, _RENEWAL)
    except Refused:
        subscriptions.move(step, row, SubscriptionEvent.SUSPENDED)


class _Verdict(NamedTuple):
    """What the providers said: the last ``route`` that was tried, its ``outcome``, and all tries
    that failed."""

    route: ProviderRoute
    outcome: Outcome
    failed: tuple[FailedAttempt, ...]


def _try_routes(step: Step, command: NewCharge, plan: ChargePlan, origin: Origin) -> _Verdict:
    """Ask one provider after another until one does not decline, or declines for good: a failure
    that is not retryable, such as a stolen card, would be the same everywhere."""
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
    return _Verdict(route, outcome, tuple(failed))


def _answer(step: Step, route: ProviderRoute, origin: Origin, number: int) -> Outcome:
    """What the provider of a route says, which is tried as the ``number``-th: by the script of a
    batch, or by rules."""
    if step.asked.scripted is not None:
        outcome = Outcome(provider=step.asked.scripted)
    else:
        outcome = providers.ask(
            step,
            "charge.create",
            route.provider,
            route.instrument,
            origin.source,
            also=origin.op,
            number=number,
        )
    # A payer is there to pass a challenge, or none is asked for.
    if not isinstance(outcome.provider, Challenge) or origin.three_ds is None:
        return outcome
    if step.assume(origin.three_ds) == origin.three_ds_fails:
        return replace(outcome, provider=failed_challenge(Code.REQUIRE_THREE_D_SECURE))
    return replace(outcome, provider=Approve())


def failed_challenge(code: Code) -> Decline:
    """What a payment is declined with whose 3-D Secure challenge was not passed. It is not
    retryable: another provider would ask the same payer the same."""
    return Decline("three_ds_challenge", code, code.message, None, None, is_retryable=False)


def failed_attempt(sandbox: Sandbox, provider_id: str, decline: Decline) -> FailedAttempt:
    """A try of a provider that said no just now."""
    return made_of(FailedAttempt, decline, provider_id=provider_id, attempted=sandbox.now)


def _store(
    step: Step, command: NewCharge, plan: ChargePlan, verdict: _Verdict, money: Money
) -> Charge:
    """Store what came of a payment: one charge, or several where a rule lets the provider take it
    more than once, as duplicate submissions do. The client is told of the first one only, as it
    would be: its search or its books must find the others."""
    said = verdict.outcome.provider
    event = _event_of(step, command, plan, verdict)
    if said is not None:
        approved = said.approved(money.amount)
        if approved is not money.amount:
            # A part was approved, which may have more digits than the currency.
            money = cut(approved, money.currency)
    if plan.token is not None:
        tokens.use(step, plan.token)
    copies = said.copies if isinstance(said, Approve) else 1
    made: list[Charge] = []
    for _ in range(copies):
        charge = step.add(_begun(step, command, plan, verdict, money, event), event)
        made.append(charge)
        follow_up(step, charge, event, verdict.outcome)
        _follow(step, charge, None, is_copy=len(made) > 1)
    # The last copy is what the step was about so far.
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
    provider, instrument = verdict.route.provider, verdict.route.instrument
    now, amount, card = step.sandbox.now, money.amount, instrument.card
    charge_id = step.sandbox.ids.hex32("charge")
    payer = _payer(command, plan)
    is_declined = event is ChargeEvent.DECLINED
    # Whether the amount is held, its provider has still to say.
    is_hold_asked = event is ChargeEvent.PENDING and not command.capture
    return Charge(
        charge_id=charge_id,
        # In the published form, ``ch_`` and 24 characters. Backwards, so that nobody takes one id
        # for the other, and no further id is drawn.
        provider_charge_id=None if is_declined else "ch_" + charge_id[:-25:-1],
        amount=amount,
        currency=money.currency.code,
        status=CHARGE.begin(event),
        provider=provider.summary,
        instrument=instrument,
        added=now,
        reference=command.reference,
        email=command.email or (payer.email if payer else None),
        customer_id=plan.instrument.customer_id,
        payer=payer,
        authorised=None if is_declined or is_hold_asked else amount,
        capture=command.capture,
        failed_attempts=verdict.failed,
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


def _event_of(step: Step, command: NewCharge, plan: ChargePlan, verdict: _Verdict) -> ChargeEvent:
    """How a charge begins: as the last provider said, else paid or authorised as it was asked for.
    A payer who was verified is not challenged again."""
    said = verdict.outcome.provider
    if said is None:
        is_slow = command.capture and verdict.route.instrument.type in _SLOW
        if is_slow and step.assume("charge.pending_types") == "bank_account_and_payto":
            return ChargeEvent.PENDING
    elif said.event is not None:
        is_passed_already = said.event is ChargeEvent.CHALLENGED and plan.verified
        if not is_passed_already:
            return said.event
    return ChargeEvent.PAID if command.capture else ChargeEvent.AUTHORISED


class _End(NamedTuple):
    """What ends a charge that stays as it is for the time of an assumption."""

    assumption: str
    due: Due


_ENDS = {
    ChargeEvent.AUTHORISED: _End("charge.authorisation_expires_after", Due.AUTHORISATION_EXPIRY),
    ChargeEvent.CHALLENGED: _End("charge.challenge_expires_after", Due.CHALLENGE_EXPIRY),
}
"""Events that leave a charge waiting for a client or a payer, who may never come."""


def follow_up(step: Step, charge: Charge, event: ChargeEvent, outcome: Outcome) -> None:
    """Plan what time will do to a charge that has just begun or was just paid."""
    if event is ChargeEvent.PENDING:
        pending = outcome.provider if isinstance(outcome.provider, Pending) else Pending()
        _plan_settlement(step, charge.charge_id, pending)
    _plan_end(step, charge, event)


def _plan_end(step: Step, charge: Charge, event: ChargeEvent) -> None:
    """Plan when an authorisation lapses or a challenge counts as abandoned, if the event began
    one."""
    end = _ENDS.get(event)
    if end is not None:
        at = step.sandbox.now + step.assume(end.assumption)
        step.sandbox.schedule.plan(at, end.due, charge.charge_id)


def _wait_of(step: Step, pending: Pending) -> Micros:
    """How long a provider takes for its answer, where the rule does not say as it is assumed."""
    if pending.after is not None:
        return pending.after
    usual: Micros = step.assume("charge.pending_settles_after")
    return usual


def _plan_settlement(step: Step, charge_id: str, pending: Pending) -> None:
    """Plan the answer to a payment or a capture."""
    _plan_answer(step, charge_id, pending, good=Due.SETTLEMENT, bad=Due.RETURN)


def _plan_answer(
    step: Step, charge_id: str, pending: Pending, *, good: Due, bad: Due, detail: str = ""
) -> None:
    """Plan the answer of a provider that gives it later: a good one or a bad one, as the rule
    says."""
    what = good if pending.settle is Settlement.SUCCESS else bad
    step.sandbox.schedule.plan(step.sandbox.now + _wait_of(step, pending), what, charge_id, detail)


def _consult(step: Step, op: str, charge: Charge) -> Pending | None:
    """Ask the provider of a charge; what it says when it answers later, None when it has agreed.
    A provider that is not in the sandbox (its charge came with a document) agrees to everything.
    Raises ``ProviderRefused``."""
    provider = step.sandbox.providers.get(charge.provider.provider_id)
    if provider is None:
        return None
    outcome = providers.ask(step, op, provider, charge.instrument, "charge")
    providers.refuse_declined(outcome, REFUSALS.get(op))
    if isinstance(outcome.provider, Pending):
        return outcome.provider
    return None


def _require(sandbox: Sandbox, charge: Charge, feature: Capability) -> None:
    """Raises ``Invalid`` (32, 78) where the provider of a charge lacks a feature: a shop that
    relies on it would fail with this provider in production."""
    provider = sandbox.providers.get(charge.provider.provider_id)
    if provider is not None and feature not in provider.capabilities:
        raise providers.lacks(provider, feature)


def give_back(step: Step, before: Charge, after: Charge) -> Charge:
    """A charge after a refund of a part or of all that was left."""
    if after.status is ChargeState.REFUND:
        return move(step, before, after, ChargeEvent.FULLY_REFUNDED)
    return move(step, before, after, ChargeEvent.PARTLY_REFUNDED)


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
    # Most sandboxes have nothing in the vault. Nobody may keep a ccv beyond the payment that it was
    # given for.
    if step.sandbox.vault.rows and before in _BEFORE_PAYMENT and charge.status in _AFTER_PAYMENT:
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
    # It was taken, and has failed since: the payment was returned.
    if charge.batch_id is not None and before in _TAKEN and charge.status is ChargeState.FAILED:
        _fail_row(step, charge, charge.batch_id)


def _pass_on(step: Step, charge: Charge, wanted: CheckoutTransfer) -> None:
    """The part of a paid token charge that goes on to another account; never more than was paid:
    a partial approval may have brought in less than the request hands on."""
    provider = providers.known(step.sandbox, charge.provider.provider_id)
    if provider is None or not wanted.account or wanted.amount is None:
        return
    part = NewTransfer(wanted.account, min(wanted.amount, charge.amount), charge.currency)
    transfers.create(
        step, NewTransferGroup(provider.provider_id, (part,), charge_id=charge.charge_id)
    )


def _fail_row(step: Step, charge: Charge, batch_id: str) -> None:
    """A row of a batch whose payment is returned has failed, long after the batch was run
    (assumption ``batch.returned_row``)."""
    batches = step.sandbox.batches
    batch = batches.get(batch_id)
    if batch is None or step.assume("batch.returned_row") != "row_fails":
        return
    place = batch.place_of(charge.charge_id)
    if place is not None:
        with batches.changing(batch):
            batch.return_row(place, _RETURNED)
