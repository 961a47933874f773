"""What a scenario makes happen to an object later, without a call.

Everything moves by the state tables; what a table forbids by then does not happen, and the journal
says why. A move that is to come is an entry of the schedule, whose detail is a text: the kind of
object, the move and what the move needs, as ``charge|refund|5.00|comment``. State documents and
stores hold it, so ``fault_of`` checks one that comes back from outside.

Source: docs/scenario-language.md, later.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from mockserver.domain import states
from mockserver.domain.charge import Charge
from mockserver.domain.commands import CardChanges
from mockserver.domain.errors import Invalid, Refused, invalid
from mockserver.domain.money import number_text
from mockserver.domain.record import record
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
from mockserver.engine.card_registry import CardRegistry
from mockserver.engine.sandbox import Sandbox
from mockserver.engine.schedule import Due, ScheduledWork
from mockserver.engine.step import KINDS, Step, turn_to
from mockserver.scenario.later_step import STATES, Later, Move, read_event
from mockserver.scenario.operations import DELETABLE, EXPIRABLE

_PART = "|"


class _KindMoved(NamedTuple):
    """Objects of which kind a move is about, and what it needs, as the texts that stand in the
    detail of an entry."""

    kind: str
    details: tuple[str, ...] = ()


class _PlannedMove(NamedTuple):
    """What the detail of an entry says: of which kind the object is, how it moves, and what the
    move needs."""

    kind: str
    move: str
    details: Sequence[str]

    @classmethod
    def read(cls, text: str) -> "_PlannedMove":
        """The parts of a detail. The last of them may hold anything, such as the comment of a
        refund with a bar in it."""
        kind, _, rest = text.partition(_PART)
        move, *details = rest.split(_PART, 2)
        return cls(kind, move, details)

    def text(self) -> str:
        """The detail of an entry."""
        return _PART.join((self.kind, self.move, *self.details))


def plan(step: Step, *, is_declined: bool = False) -> None:
    """Put on the schedule what the rules of the present step say of later; of one whose provider
    declined it, what the rules of providers say: the others meant what would have happened."""
    for decision in step.result.decisions:
        if decision.rule is None:
            continue
        if is_declined and decision.outcome.provider is None:
            continue
        for wanted in decision.outcome.later:
            for moved in _moves(wanted, step):
                _plan_move(step, wanted, moved)


def _plan_move(step: Step, wanted: Later, moved: _KindMoved) -> None:
    """Plan a move of the object of a kind that the step is about; warn where it is about none."""
    subject = _subject(step, moved.kind)
    if subject is None:
        why = f"{wanted.move.value} will not happen, {step.asked.op} is about no {moved.kind}"
        step.result.warnings += (f"later: {why}",)
        return
    at = step.sandbox.now + wanted.after
    planned = _PlannedMove(moved.kind, wanted.move.value, moved.details)
    step.sandbox.schedule.plan(at, Due.LATER, subject, planned.text())


def happen(step: Step, entry: ScheduledWork) -> None:
    """It is later now: what was planned happens, if the state table still allows it. A refusal has
    nobody to go to but the journal."""
    kind, move, details = _PlannedMove.read(entry.detail)
    act = _ACTS[move, kind]
    try:
        act(step, entry.subject, *details)
    except Refused as refused:
        # What is wrong with single fields says more than the message of the code.
        why = ", ".join((refused.details or {}).values()) or refused.message
        step.result.warnings += (f"later: {move} of {kind} {entry.subject} did not happen: {why}",)


def happen_now(step: Step, kind: str, subject: str, wanted: Later) -> None:
    """Let something happen to an object at once, its provider not being asked. Raises ``Invalid``
    (90) for a kind of object to which it cannot happen, and what the move raises."""
    move = wanted.move
    moves = _moves(wanted, step)
    if move in (Move.DELETE, Move.EXPIRE):
        # What a rule deletes or lets expire follows from its operation; here the caller says it.
        moves = [_KindMoved(kind)]
    for moved in moves:
        if moved.kind != kind:
            raise invalid({move.value: f"got {move} of a {moved.kind}, and this is a {kind}"})
        # Checked as an entry of a document is: neither comes from a rule, which its reader checks.
        planned = _PlannedMove(kind, move.value, moved.details)
        entry = ScheduledWork(step.sandbox.now, 0, Due.LATER, subject, planned.text())
        fault = fault_of(step.sandbox, entry)
        if fault is not None:
            raise invalid({move.value: fault})
        _ACTS[move, kind](step, subject, *moved.details)


def fault_of(sandbox: Sandbox, entry: ScheduledWork) -> str | None:
    """Why an entry that was read from a document could not happen, None when it can."""
    kind, move, details = _PlannedMove.read(entry.detail)
    if kind not in KINDS:
        return f"got '{kind[:40]}', wanted one of {', '.join(KINDS)} before the first {_PART}"
    if KINDS[kind].table(sandbox).get(entry.subject) is None:
        return f"no {kind} '{entry.subject[:64]}' in the document"
    if move not in _DETAILS:
        return f"got '{move[:40]}', wanted one of {', '.join(_DETAILS)} after the first {_PART}"
    if (move, kind) not in _ACTS:
        kinds = ", ".join(of_kind for known_move, of_kind in _ACTS if known_move == move)
        return f"got '{move}' of a {kind}, wanted it of one of {kinds}"
    rule = _DETAILS[move]
    if not rule.fits(kind, details):
        return f"got '{_PART.join(details)[:40]}' for {move}, wanted {rule.words}"
    return None


def _is_amount(text: str) -> bool:
    """Whether a text is an amount; an empty one means all."""
    if not text:
        return True
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


def _moves(wanted: Later, step: Step) -> list[_KindMoved]:
    """What something wanted later moves: one kind of object, or with ``set`` one for each path."""
    match wanted.move:
        case Move.SET:
            return _moves_of_set(wanted.set or {}, step)
        case Move.DELETE:
            return [_KindMoved(DELETABLE.get(step.asked.op, ""))]
        case Move.EXPIRE:
            if _pays_by_token(step):
                return [_KindMoved("token")]
            return [_KindMoved(EXPIRABLE.get(step.asked.op, ""))]
        case Move.SETTLE:
            return [_KindMoved("charge", (str(wanted.settle),))]
        case Move.EMIT if wanted.emit is not None:
            # The forms of state documents come with the first event: a server is smaller without
            # them.
            from mockserver.engine.lines import write_any

            data = json.dumps(write_any(wanted.emit.data))
            return [_KindMoved("charge", (wanted.emit.event, data))]
        case _:
            part = wanted.capture or wanted.refund
            if part is None:
                # A void: of all, without a comment.
                return [_KindMoved("charge", ("", ""))]
            amount = "" if part.amount is None else number_text(part.amount)
            return [_KindMoved("charge", (amount, part.comment or ""))]


def _moves_of_set(changes: Mapping[str, object], step: Step) -> list[_KindMoved]:
    """What the changes of ``set`` move, by their paths."""
    moves: list[_KindMoved] = []
    for path, value in changes.items():
        first_word, _, _ = path.partition(".")
        kind = _KINDS.get(path, first_word)
        # An agreement that is being made already knows what its payer will do.
        if kind == "payto" and _makes_agreement(step):
            continue
        moves.append(_KindMoved(kind, (str(value),)))
    return moves


def _makes_agreement(step: Step) -> bool:
    """Whether the present step has made a PayTo agreement (``payto.store`` has then taken what the
    rules say of its payer)."""
    return any(
        event.subject is Subject.PAYTO and event.before is None for event in step.result.events
    )


def _pays_by_token(step: Step) -> bool:
    """Whether what expires after a charge is the token that paid. Where the charge is held, it is
    the authorisation."""
    if step.asked.op != "charge.create" or not step.asked.request.get("token"):
        return False
    charge = step.result.about.get("charge")
    if not isinstance(charge, Charge):
        return True
    is_held = charge.status is states.ChargeState.AUTHORISED
    # A provider that answers later may hold it yet.
    return not is_held and not charge.waits_for_hold()


def _subject(step: Step, kind: str) -> str | None:
    """The id of the object of a kind that the present step is about."""
    for event in step.result.events:
        if event.subject.value == kind:
            return event.subject_id
    # A payment method names the agreement and the network token that belong to it.
    for row in (step.result.about.get(kind), step.result.about.get("payment_method")):
        row_id = getattr(row, f"{kind}_id", None)
        if isinstance(row_id, str):
            return row_id
    return None


def _amount(text: str) -> Decimal | None:
    """The amount of a detail; an empty one means all that can be moved."""
    return Decimal(text) if text else None


def _capture(step: Step, charge_id: str, amount: str, _: str) -> None:
    """Capture as a call would; a capture has no comment, which the last detail is."""
    charge = charges.get(step, charge_id)
    after = charges.captured(step, charge, _amount(amount))
    charges.move(step, charge, after, charges.capturing(charge))


def _refund(step: Step, charge_id: str, amount: str, comment: str) -> None:
    charge = charges.get(step, charge_id)
    refund = charge.refund_of(_amount(amount), comment or None, step.sandbox.now)
    charges.give_back(step, charge, charge.after_refund(refund))


def _settle(step: Step, charge_id: str, end: str) -> None:
    """End a pending payment; where it waits for its payer, the payer answers."""
    charge = charges.get(step, charge_id)
    if charge.status is states.ChargeState.PENDING_CHECKOUT:
        three_ds.answer(step, charge_id, _PAYER[end])
        return
    event = states.ChargeEvent.SETTLED if end == "SUCCESS" else states.ChargeEvent.RETURNED
    charges.settle(step, charge, event)


def _void(step: Step, charge_id: str, *_: str) -> None:
    """Void an authorisation: all of it and without a comment, which its two details could say."""
    charges.let_go(step, charges.get(step, charge_id), states.ChargeEvent.VOIDED)


def _expire_charge(step: Step, charge_id: str) -> None:
    charges.let_go(step, charges.get(step, charge_id), states.ChargeEvent.EXPIRED)


def _emit(step: Step, charge_id: str, event: str, text: str) -> None:
    """Report data of the scenario's own, by an event that does not move the charge."""
    from mockserver.engine.line_reading import read_any

    status = charges.get(step, charge_id).status
    data = read_any(json.loads(text), step.sandbox.cards)
    emitted = Event(
        Subject.CHARGE, charge_id, event, status, status, at=step.sandbox.now, data=data
    )
    step.result.events += (emitted,)


def _is_event(event: str, data: str) -> bool:
    """Whether a text may be the name of a webhook that a scenario emits, and another its data, the
    text of a JSON object as ``write_any`` makes it: work that could not read it would fail anew
    with every request."""
    from mockserver.engine.line_reading import checked_value_of

    try:
        read_event(event)
        plain = json.loads(data)
        if _is_deeper(plain, _MOST_LEVELS):
            return False
        value = checked_value_of(object, plain, CardRegistry(""))
    except (ValueError, RecursionError):
        # No such name, no JSON, or nothing that is written so.
        return False
    return isinstance(value, dict)


_MOST_LEVELS = 64
"""Levels of the data of an event: as many as a JSON body may have, and a state document has."""


def _is_deeper(plain: object, most: int) -> bool:
    """Whether plain data has more levels."""
    if not isinstance(plain, dict | list):
        return False
    if most == 0:
        return True
    items = plain.values() if isinstance(plain, dict) else plain
    return any(_is_deeper(item, most - 1) for item in items)


_PAYER: Mapping[str, ChallengeAnswer] = {
    "SUCCESS": ChallengeAnswer.PASS,
    "FAILED": ChallengeAnswer.FAIL,
    "ABANDONED": ChallengeAnswer.CANCEL,
}
"""How a payer ends a challenge."""

_KINDS = {"card.expiryDate": "payment_method"}
"""Kinds of objects that hold what a path of ``set`` names, where it does not begin with them."""


def _turn_agreement(step: Step, payto_id: str, word: str) -> None:
    """Move an agreement to a state. Raises ``Invalid`` (90) where its table has no way there."""
    agreement = step.sandbox.payto.get(payto_id)
    if not turn_to(step, agreement, states.PAYTO, states.PayToState(word)):
        raise _no_way(agreement.status if agreement is not None else "gone", word)


def _turn_network_token(step: Step, network_token_id: str, word: str) -> None:
    """Move a network token to a state. Raises ``Invalid`` (90) where its table has no way there."""
    token = step.sandbox.network_tokens.get(network_token_id)
    if not turn_to(step, token, states.NETWORK_TOKEN, states.NetworkTokenState(word)):
        raise _no_way(token.status if token is not None else "gone", word)


def _no_way(by_then: str, word: str) -> Invalid:
    """The refusal (90) of a state that an object cannot get to from where it is by then."""
    return invalid({"set": f"it is {by_then} by then, and becomes {word} no more"})


def _change_expiry(step: Step, payment_method_id: str, expiry: str) -> None:
    payment_methods.update_card(step, payment_method_id, CardChanges(expiry=expiry))


def _turn_subscription(step: Step, subscription_id: str, word: str) -> None:
    subscriptions.set_status(step, subscription_id, states.SubscriptionState(word))


def _expire_vault_item(step: Step, vault_id: str) -> None:
    vault.end(step, vault.get(step, vault_id), states.VaultEvent.EXPIRED)


def _expire_token(step: Step, token_id: str) -> None:
    tokens.expire(step, tokens.get(step, token_id))


def _delete_customer(step: Step, customer_id: str) -> None:
    customers.delete(step, customer_id, ask_provider=False)


def _delete_method(step: Step, payment_method_id: str) -> None:
    payment_methods.delete(step, payment_method_id, ask_provider=False)


_ACTS: Mapping[tuple[str, str], Callable[..., object]] = {
    (Move.SET, "payment_method"): _change_expiry,
    (Move.SET, "payto"): _turn_agreement,
    (Move.SET, "network_token"): _turn_network_token,
    (Move.SET, "subscription"): _turn_subscription,
    (Move.DELETE, "vault"): vault.delete,
    (Move.DELETE, "customer"): _delete_customer,
    (Move.DELETE, "payment_method"): _delete_method,
    (Move.EXPIRE, "vault"): _expire_vault_item,
    (Move.EXPIRE, "token"): _expire_token,
    (Move.EXPIRE, "charge"): _expire_charge,
    (Move.EMIT, "charge"): _emit,
    (Move.CAPTURE, "charge"): _capture,
    (Move.REFUND, "charge"): _refund,
    (Move.VOID, "charge"): _void,
    (Move.SETTLE, "charge"): _settle,
}
"""What each move does to an object of a kind, with its details; its provider is not asked: it is
who does it."""


@record
class _DetailRule:
    """Whether a move of an object of a kind can do something with its details, and in words what
    they must be."""

    fits: Callable[[str, Sequence[str]], bool]
    words: str


def _is_state(kind: str, details: Sequence[str]) -> bool:
    """One word, which is a state where objects of the kind have states (a card's expiry date is
    none)."""
    if len(details) != 1:
        return False
    [word] = details
    return kind not in STATES or word in list(STATES[kind])


def _is_emitted(kind: str, details: Sequence[str]) -> bool:
    """The name of an event, and its data as JSON."""
    return len(details) == 2 and _is_event(*details)


def _is_money(kind: str, details: Sequence[str]) -> bool:
    """An amount and a comment, each of which may be empty."""
    if len(details) != 2:
        return False
    amount, _ = details
    return _is_amount(amount)


def _is_end(kind: str, details: Sequence[str]) -> bool:
    """How a payment ends, or the challenge that it waits for."""
    if len(details) != 1:
        return False
    [end] = details
    return end in _PAYER


def _is_nothing(kind: str, details: Sequence[str]) -> bool:
    """Nothing: the kind and the move say it all."""
    return not details


_MONEY = _DetailRule(_is_money, "amount|comment")
_NOTHING_MORE = _DetailRule(_is_nothing, "nothing more")
_DETAILS: Mapping[str, _DetailRule] = {
    Move.SET: _DetailRule(_is_state, "a state of it"),
    Move.EMIT: _DetailRule(_is_emitted, "event|data"),
    Move.CAPTURE: _MONEY,
    Move.REFUND: _MONEY,
    Move.VOID: _MONEY,
    Move.SETTLE: _DetailRule(_is_end, f"one of {', '.join(_PAYER)}"),
    Move.DELETE: _NOTHING_MORE,
    Move.EXPIRE: _NOTHING_MORE,
}
"""The details that each move can do something with."""
