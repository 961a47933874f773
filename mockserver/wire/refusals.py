"""What a refusal, a declined charge or a scripted status says in the error shape (published facts,
4.1).

The engine raises what is wrong, in kinds (``NotFound``, ``WrongState``); here it gets the status
and the words of the API, which for some kinds are assumptions. A scenario that answers a status
gets the same error object as a genuine refusal: a client must not learn to tell the two apart.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mockserver.assumptions import Assumed
from mockserver.domain.charge import Charge, FailedAttempt
from mockserver.domain.codes import MESSAGES, Code
from mockserver.domain.errors import (
    KeyInUse,
    NotFound,
    Problem,
    Refused,
    TryLater,
    Unauthorised,
    UnknownPath,
    UnsupportedMedia,
    WrongState,
    problem,
)
from mockserver.domain.record import read_table
from mockserver.wire.profile import profile_of


def status_of(refused: Refused, assumed: Assumed) -> int:
    """The HTTP status of a refusal (assumptions ``error.not_found``, ``error.wrong_state``;
    settled fact ``keys``)."""
    for kind, assumption in _ASSUMED.items():
        if isinstance(refused, kind):
            assumed_status: int = assumed[assumption]
            return assumed_status
    for kind, status in _FIXED.items():
        if isinstance(refused, kind):
            return status
    return 400


def shaped_by(refused: Refused) -> list[str]:
    """Keys of the assumptions that decide how a refusal is worded."""
    return [key for kind, key in _ASSUMED.items() if isinstance(refused, kind)]


_ASSUMED: Mapping[type[Refused], str] = {
    NotFound: "error.not_found",
    WrongState: "error.wrong_state",
}
_FIXED: Mapping[type[Refused], int] = {
    Unauthorised: 401,
    UnknownPath: 404,
    KeyInUse: 409,
    UnsupportedMedia: 415,
    TryLater: 503,
}


def refusal(refused: Refused, resource: str, assumed: Assumed) -> tuple[int, Problem]:
    """Status and body of a refusal."""
    status = status_of(refused, assumed)
    code = refused.code if refused.own_code is None else refused.own_code
    details = refused.details
    if details and isinstance(refused, WrongState):
        # It names the state that the charge has, which each profile spells its own way.
        sentence = profile_of(assumed).sentence
        details = {field: sentence(text) for field, text in details.items()}
    facts = _facts_of_provider(refused)
    return status, problem(status, code, refused.message, resource, details, **facts)


def declined(charge: Charge, resource: str) -> tuple[int, Problem]:
    """Status and body of a charge that was declined, where that is an error and no charge with the
    status FAILED (assumption ``charge.declined_reply``; published facts, 10). The details name the
    charge, which there is all the same."""
    attempt = charge.failed_attempts[-1]
    card = charge.instrument.card
    details = {"ChargeId": charge.charge_id, "PaymentType": charge.instrument.type.value}
    if attempt.gateway_code:
        details[attempt.gateway_code] = attempt.gateway_message or ""
    known = {"Email": charge.email}
    if card is not None:
        known |= {
            "Cardholder": card.cardholder,
            "ExpiryDate": card.expiry,
            "CardType": card.number.brand.value,
        }
    details |= {name: value for name, value in known.items() if value is not None}
    code, words = attempt.error_code, attempt.error_message
    return 400, problem(400, code, words, resource, details, **_facts_of_provider(attempt))


def _facts_of_provider(said: Refused | FailedAttempt) -> dict[str, Any]:
    """What a provider says besides a code and a message, as keywords of ``problem``."""
    return {
        "is_retryable": said.is_retryable,
        "gateway_code": said.gateway_code,
        "gateway_message": said.gateway_message,
    }


def scripted(
    status: int,
    op: str,
    resource: str,
    code: int | None = None,
    message: str | None = None,
    *,
    may_retry: bool = True,
) -> Problem:
    """The error object of a status that a scenario answers with, as the genuine one of the
    operation: without a code that which fits the two. ``may_retry`` is False when the operation has
    happened: then no error says otherwise."""
    is_retryable = False
    if code is None:
        # A code of the scenario's own says what happened: then nothing is claimed besides. Of the
        # statuses from 500 on those above come from what stands before the service.
        is_retryable = status in _LATER or (status > _BROKEN and may_retry)
        code = _code_of(status, op)
    words = message or MESSAGES[Code(code)]
    return problem(status, code, words, resource, is_retryable=is_retryable)


def _code_of(status: int, op: str) -> Code:
    """The code that a genuine refusal of an operation with this status has: of the operation, else
    of its kind of object, else of any."""
    kind, _, verb = op.partition(".")
    candidates = [op, kind, _ANY_OPERATION]
    if verb in _ABOUT_NONE and status == _NOT_FOUND:
        candidates = [_ANY_OPERATION]
    for about in candidates:
        code = _CODES.get((status, about))
        if code is not None:
            return code
    return Code.UNKNOWN_ERROR


_ANY_OPERATION = ""
_NOT_FOUND, _BROKEN = 404, 500
_ABOUT_NONE = ("create", "search")
"""Operations that name no object of their own kind, which therefore cannot be missing."""

_LATER = (408, 429)
"""Statuses below 500 after which another try may help."""

_CODES = dict(
    read_table(
        "refusals",
        lambda status, about, code: ((int(status), about), Code[code]),
        folder=Path(__file__).parent,
    )
)
"""The codes of the genuine refusals (assumptions ``error.not_found``, ``error.wrong_state``), by
status and by the operation or the kind of object that it is about; those about nothing are of all
operations."""
