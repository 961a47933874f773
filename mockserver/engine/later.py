"""What a scenario makes happen to an object later, without a call.

Everything moves by the state tables; what a table forbids by then does not happen, and the journal
says why. Source: docs/scenario-language.md, later.
"""

import json
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

from mockserver.domain import states
from mockserver.domain.charge import Charge
from mockserver.domain.commands import CardChanges
from mockserver.domain.errors import Refused, invalid
from mockserver.domain.money import number_text
from mockserver.domain.sources import ChallengeAnswer
from mockserver.domain.states import Event, Subject
from mockserver.engine import (
    charges,
    customers,
    payment_methods,
    subscriptions,
    three_ds,
    tokens,
    vault,
)
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due, ScheduledWork
from mockserver.engine.step import KINDS, Step, turn_to
from mockserver.scenario.later_step import STATES, Later, Move, read_event
from mockserver.scenario.operations import DELETABLE, EXPIRABLE

_PART = "|"


def plan(step: Step, *, is_declined: bool = False) -> None:
    """Put on the schedule what the rules of the present step say of later; of one whose provider
    declined it, what the rules of providers say."""
    for decision in step.result.decisions:
        if decision.rule is None or (is_declined and decision.outcome.provider is None):
            continue
        for wanted in decision.outcome.later:
            for kind, detail in _moves(wanted, step):
                subject = _subject(step, kind)
                if subject is None:
                    why = (
                        f"later: {wanted.move.value} will not happen, {step.asked.op} is about "
                        f"no {kind}"
                    )
                    step.result.warnings += (why,)
                else:
                    parts = (kind, wanted.move.value, *detail)
                    step.sandbox.schedule.plan(
                        step.sandbox.now + wanted.after, Due.LATER, subject, _PART.join(parts)
                    )


def happen(step: Step, entry: ScheduledWork) -> None:
    """It is later now."""
    kind, move, *detail = entry.detail.split(_PART, 3)
    try:
        _ACTS[move, kind](step, entry.subject, *detail)
    except Refused as refused:
        why = ", ".join((refused.details or {}).values()) or refused.message
        step.result.warnings += (f"later: {move} of {kind} {entry.subject} did not happen: {why}",)


def happen_now(step: Step, kind: str, subject: str, wanted: Later) -> None:
    """Let something happen to an object at once, its provider not being asked. Raises ``Invalid``
    (90) for a kind of object to which it cannot happen, and what the move raises."""
    moves = [(kind, ())] if wanted.move in (Move.DELETE, Move.EXPIRE) else _moves(wanted, step)
    for of, detail in moves:
        entry = ScheduledWork(
            step.sandbox.now, 0, Due.LATER, subject, _PART.join((of, wanted.move.value, *detail))
        )
        fault = (
            fault_of(step.sandbox, entry)
            if of == kind
            else f"got {wanted.move} of a {of}, and this is a {kind}"
        )
        if fault is not None:
            raise invalid({wanted.move.value: fault})
        _ACTS[wanted.move, kind](step, subject, *detail)


def fault_of(sandbox: Sandbox, entry: ScheduledWork) -> str | None:
    """Why an entry that was read from a document could not happen, None when it can."""
    kind, move, *detail = [*entry.detail.split(_PART, 3), ""]
    details = detail[:-1]
    if kind not in KINDS:
        return f"got '{kind[:40]}', wanted one of {', '.join(KINDS)} before the first {_PART}"
    if KINDS[kind].table(sandbox).get(entry.subject) is None:
        return f"no {kind} '{entry.subject[:64]}' in the document"
    if move not in _DETAILS:
        return f"got '{move[:40]}', wanted one of {', '.join(_DETAILS)} after the first {_PART}"
    if (move, kind) not in _ACTS:
        kinds = ", ".join(of for known, of in _ACTS if known == move)
        return f"got '{move}' of a {kind}, wanted it of one of {kinds}"
    fits, words = _DETAILS[move]
    return (
        None
        if fits(kind, details)
        else f"got '{_PART.join(details)[:40]}' for {move}, wanted {words}"
    )


def _is_amount(text: str) -> bool:
    try:
        return not text or Decimal(text).is_finite()
    except InvalidOperation:
        return False


def _moves(wanted: Later, step: Step) -> list[tuple[str, tuple[str, ...]]]:
    """The kinds of object that something wanted later is about, with the details of the move as
    texts."""
    match wanted.move:
        case Move.SET:
            made = any(
                event.subject.value == "payto" and event.before is None
                for event in step.result.events
            )
            # An agreement that is being made already knows what its payer will do.
            return [
                (_KINDS.get(path, path.partition(".")[0]), (str(value),))
                for path, value in (wanted.set or {}).items()
                if not (made and path.startswith("payto."))
            ]
        case Move.DELETE:
            return [(DELETABLE.get(step.asked.op, ""), ())]
        case Move.EXPIRE:
            charge = step.result.about.get("charge")
            is_held = isinstance(charge, Charge) and (
                charge.status is states.ChargeState.AUTHORISED or charge.waits_for_hold()
            )
            is_paid_with = (
                step.asked.op == "charge.create"
                and bool(step.asked.request.get("token"))
                and not is_held
            )
            return [("token" if is_paid_with else EXPIRABLE.get(step.asked.op, ""), ())]
        case Move.SETTLE:
            return [("charge", (str(wanted.settle),))]
        case Move.EMIT if (emit := wanted.emit) is not None:
            # The forms of state documents come with the first event: a server is smaller without
            # them.
            from mockserver.engine.lines import write_any

            return [("charge", (emit.event, json.dumps(write_any(emit.data))))]
        case _:
            part = wanted.capture or wanted.refund
            if part is None:
                return [("charge", ("", ""))]
            amount = "" if part.amount is None else number_text(part.amount)
            return [("charge", (amount, part.comment or ""))]


def _subject(step: Step, kind: str) -> str | None:
    """The id of the object of a kind that the present step is about."""
    for event in step.result.events:
        if event.subject.value == kind:
            return event.subject_id
    for known in (step.result.about.get(kind), step.result.about.get("payment_method")):
        found = getattr(known, f"{kind}_id", None)
        if isinstance(found, str):
            return found
    return None


def _amount(text: str) -> Decimal | None:
    return Decimal(text) if text else None


def _capture(step: Step, charge_id: str, amount: str, _: str) -> None:
    charge = charges.get(step, charge_id)
    charges.move(
        step, charge, charges.captured(step, charge, _amount(amount)), charges.capturing(charge)
    )


def _refund(step: Step, charge_id: str, amount: str, comment: str) -> None:
    charge = charges.get(step, charge_id)
    wanted = charge.refund_of(_amount(amount), comment or None, step.sandbox.now)
    charges.give_back(step, charge, charge.after_refund(wanted))


def _settle(step: Step, charge_id: str, end: str) -> None:
    charge = charges.get(step, charge_id)
    if charge.status is states.ChargeState.PENDING_CHECKOUT:
        three_ds.answer(step, charge_id, _PAYER[end])
        return
    event = states.ChargeEvent.SETTLED if end == "SUCCESS" else states.ChargeEvent.RETURNED
    charges.settle(step, charge, event)


def _let_go(event: states.ChargeEvent, step: Step, charge_id: str, *_: str) -> None:
    charges.let_go(step, charges.get(step, charge_id), event)


def _emit(step: Step, charge_id: str, event: str, text: str) -> None:
    from mockserver.engine.lines import read_any

    status, data = (
        charges.get(step, charge_id).status,
        read_any(json.loads(text), step.sandbox.cards),
    )
    step.result.events += (
        Event(Subject.CHARGE, charge_id, event, status, status, at=step.sandbox.now, data=data),
    )


def _is_event(event: str, data: str) -> bool:
    try:
        return bool(read_event(event)) and isinstance(json.loads(data), dict)
    except ValueError:
        return False


_PAYER: Mapping[str, ChallengeAnswer] = {
    "SUCCESS": ChallengeAnswer.PASS,
    "FAILED": ChallengeAnswer.FAIL,
    "ABANDONED": ChallengeAnswer.CANCEL,
}
"""How a payer ends a challenge."""

_KINDS = {"card.expiryDate": "payment_method"}
"""Kinds of objects that hold what a path of ``set`` names, where it does not begin with them."""


def _turn(
    kind: str,
    table: states.TransitionTable[Any, Any],
    state: type[Any],
    step: Step,
    subject: str,
    word: str,
) -> None:
    row: Any = KINDS[kind].table(step.sandbox).get(subject)
    if not turn_to(step, row, table, state(word)):
        raise invalid(
            {"set": f"it is {getattr(row, 'status', 'gone')} by then, and becomes {word} no more"}
        )


_ACTS: Mapping[tuple[str, str], Callable[..., object]] = {
    (Move.SET, "payment_method"): lambda step, subject, word: payment_methods.update_card(
        step, subject, CardChanges(expiry=word)
    ),
    (Move.SET, "payto"): partial(_turn, "payto", states.PAYTO, states.PayToState),
    (Move.SET, "network_token"): partial(
        _turn, "network_token", states.NETWORK_TOKEN, states.NetworkTokenState
    ),
    (Move.SET, "subscription"): lambda step, subject, word: subscriptions.set_status(
        step, subject, states.SubscriptionState(word)
    ),
    (Move.DELETE, "vault"): vault.delete,
    (Move.DELETE, "customer"): partial(customers.delete, ask_provider=False),
    (Move.DELETE, "payment_method"): partial(payment_methods.delete, ask_provider=False),
    (Move.EXPIRE, "vault"): lambda step, subject: vault.end(
        step, vault.get(step, subject), states.VaultEvent.EXPIRED
    ),
    (Move.EXPIRE, "token"): lambda step, subject: tokens.expire(step, tokens.get(step, subject)),
    (Move.EXPIRE, "charge"): partial(_let_go, states.ChargeEvent.EXPIRED),
    (Move.EMIT, "charge"): _emit,
    (Move.CAPTURE, "charge"): _capture,
    (Move.REFUND, "charge"): _refund,
    (Move.VOID, "charge"): partial(_let_go, states.ChargeEvent.VOIDED),
    (Move.SETTLE, "charge"): _settle,
}
"""What each move does to an object of a kind, with its details; its provider is not asked: it is
who does it."""


_DETAILS: Mapping[str, tuple[Callable[[str, list[str]], bool], str]] = {
    Move.SET: (
        lambda kind, given: (
            len(given) == 1 and (kind not in STATES or given[0] in list(STATES[kind]))
        ),
        "a state of it",
    ),
    Move.EMIT: (lambda kind, given: len(given) == 2 and _is_event(*given), "event|data"),
    **dict.fromkeys(
        (Move.CAPTURE, Move.REFUND, Move.VOID),
        (lambda kind, given: len(given) == 2 and _is_amount(given[0]), "amount|comment"),
    ),
    Move.SETTLE: (
        lambda kind, given: given in [[word] for word in _PAYER],
        f"one of {', '.join(_PAYER)}",
    ),
    **dict.fromkeys((Move.DELETE, Move.EXPIRE), (lambda kind, given: not given, "nothing more")),
}
"""The details that each move can do something with."""
