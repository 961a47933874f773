"""Charge operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mockserver.domain.charge import Charge
from mockserver.domain.states import ChargeState
from mockserver.engine import charges, searches, three_ds
from mockserver.web.endpoints.use_cases import ListOf, UseCase
from mockserver.web.routes import OperationCall, StatusReply
from mockserver.wire.charges import charge_reply, charge_text
from mockserver.wire.profile import WireProfile
from mockserver.wire.refusals import declined
from mockserver.wire.replies import Members

T = TypeVar("T")


def create(call: OperationCall) -> bytes | StatusReply:
    """Any creation of a charge whose body names its own source."""
    return answered(call, charges.create(call.step, call.body.charge()))


def create_from_wallet(call: OperationCall) -> bytes | StatusReply:
    """Charge the token of a wallet, through the provider that the query, the header or the body names."""
    return answered(call, charges.create(call.step, call.body.charge(call.provider)))


def answered(call: OperationCall, charge: Charge) -> bytes | StatusReply:
    """What is shown of a charge that was just begun (assumption ``charge.declined_reply``)."""
    if charge.status is ChargeState.FAILED and call.step.assume("charge.declined_reply") == "error":
        return StatusReply(*declined(charge, call.resource))
    return _worded(call, charge, charge_text)


def capture(call: OperationCall) -> Members:
    """Complete an authorised charge."""
    return shown(call, charges.capture(call.step, call.path["charge_id"], call.body.amount))


def void(call: OperationCall) -> Members:
    """Cancel an authorised charge."""
    return shown(call, charges.void(call.step, call.path["charge_id"]))


def refund(call: OperationCall) -> Members:
    """Give money back."""
    return shown(call, charges.refund(call.step, call.path["charge_id"], call.query.amount, call.query.comment))


def refund_or_void(call: OperationCall) -> Members:
    """``DELETE /charge/<id>``: void an authorised charge when no amount and no comment are given, else refund."""
    meaning = call.step.assume("charge.on_delete_path")
    if meaning == "refund_or_void":
        charge = charges.get(call.step, call.path["charge_id"])
        bare = call.query.amount is None and call.query.comment is None
        meaning = "void" if bare and charge.status is ChargeState.AUTHORISED else "refund"
    return void(call) if meaning == "void" else refund(call)


def get(call: OperationCall) -> bytes:
    """Read one charge."""
    return written(call, charges.get(call.step, call.path["charge_id"]))


def written(call: OperationCall, charge: Charge) -> bytes:
    """A charge as text: the same until the charge changes."""
    table = call.step.sandbox.charges
    kept = table.derived(charge)
    if kept is not None and kept[0] is call.profile:
        text: bytes = kept[1]
        return text
    text = _worded(call, charge, charge_text)
    table.derive(charge, (call.profile, text))
    return text


def shown(call: OperationCall, charge: Charge) -> Members:
    """A charge in the voice of the sandbox."""
    return _worded(call, charge, charge_reply)


def _worded(call: OperationCall, charge: Charge, word: Callable[[Charge, WireProfile, int, str | None], T]) -> T:
    """A charge as ``word`` words it, with the seed of the sandbox and where the payer is challenged."""
    sandbox = call.step.sandbox
    address = three_ds.address(sandbox, charge) if charge.challenged else None
    return word(charge, call.profile, sandbox.config.seed, address)


answer_challenge = UseCase("Answer a challenge.", three_ds.answer, shown)
search = ListOf("List charges.", searches.CHARGES, "charge_bodies.ChargeQuery", "charges", written)
