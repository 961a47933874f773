"""What a refusal, a declined charge or a scripted status says in the error shape (published facts,
4.1)."""

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
            status: int = assumed[assumption]
            return status
    return next((fixed for kind, fixed in _FIXED.items() if isinstance(refused, kind)), 400)


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
        sentence = profile_of(assumed).sentence
        details = {field: sentence(text) for field, text in details.items()}
    return status, problem(
        status, code, refused.message, resource, details, **_of_provider(refused)
    )


def declined(charge: Charge, resource: str) -> tuple[int, Problem]:
    """Status and body of a charge that was declined (assumption ``charge.declined_reply``;
    published facts, 10)."""
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
    return 400, problem(400, code, words, resource, details, **_of_provider(attempt))


def _of_provider(said: Refused | FailedAttempt) -> dict[str, Any]:
    """What a provider says besides a code and a message."""
    return {
        name: getattr(said, name) for name in ("is_retryable", "gateway_code", "gateway_message")
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
    is_retryable = code is None and ((status > _BROKEN and may_retry) or status in _LATER)
    code = _code_of(status, op) if code is None else code
    return problem(
        status, code, message or MESSAGES[Code(code)], resource, is_retryable=is_retryable
    )


def _code_of(status: int, op: str) -> Code:
    kind, _, verb = op.partition(".")
    names_none = verb in _ABOUT_NONE and status == _NOT_FOUND
    codes = (_CODES.get((status, about)) for about in (*(() if names_none else (op, kind)), ""))
    return next((code for code in codes if code is not None), Code.UNKNOWN_ERROR)


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
