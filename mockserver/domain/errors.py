"""The one tree of refusals, and the one shape of an error. A refused command has changed nothing;
every rule that it breaks is collected first, so that a caller can put them all right at once.

``wire`` maps each class to a status, ``codes`` holds the numbers.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, ParamSpec, TypedDict, TypeVar

from mockserver.domain.codes import Code
from mockserver.domain.masking import mask_text

P = ParamSpec("P")
T = TypeVar("T")

_LONGEST_WORD = 200
"""Longer words are not misspelt names, and are not compared."""


class MockserverError(Exception):
    """Base of every error that this package raises on purpose."""


class Refused(MockserverError):
    """A rule forbids the command. ``details`` maps a PascalCase field to what was got and what is
    allowed; whatever in it could be a card number is masked, so that no trace of the error holds
    one. ``own_code`` is a code that a scenario gives instead, which may be none of the service's;
    with what a provider said of it, if one did. ``is_retryable``: another try may help."""

    own_code: int | None = None
    gateway_code: str | None = None
    gateway_message: str | None = None
    is_retryable = False

    def __init__(
        self, code: Code, details: Mapping[str, str] | None = None, *, message: str | None = None
    ) -> None:
        self.code = code
        self.details = _masked(details)
        self.message = message or code.message
        super().__init__(self.message if not details else f"{self.message}: {self.details}")


def _masked(details: Mapping[str, str] | None) -> dict[str, str] | None:
    """Details without what could be a card number; None for none."""
    if not details:
        return None
    return {mask_text(field): mask_text(text) for field, text in details.items()}


class Unauthorised(Refused):
    """No key, or one that opens no sandbox (settled fact ``keys``)."""


class UnsupportedMedia(Refused):
    """The body is of a type or in a coding that is not read."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(Code.VALIDATION_ERROR, {field: text}, message="Unsupported Media Type")


class UnknownPath(Refused):
    """A path that no operation has."""

    def __init__(self, text: str) -> None:
        super().__init__(Code.UNKNOWN_ERROR, {"Path": text}, message="Not Found")


class TryLater(Refused):
    """The server cannot do it now. ``wait`` is how many seconds the client is asked to wait before
    it tries again."""

    is_retryable = True

    def __init__(self, code: Code, details: Mapping[str, str] | None, wait: int) -> None:
        super().__init__(code, details)
        self.wait = wait


class Full(TryLater):
    """The server has as many sandboxes as it may have (``--most-sandboxes``), and the key would
    open another."""


class NotKept(TryLater):
    """The store could not take or give what was asked, as when its disk is full: nothing of the
    request is there."""


class Invalid(Refused):
    """One or more fields are wrong, alone or together (settled fact ``error.validation``)."""


def invalid(details: Mapping[str, str]) -> Invalid:
    """The refusal (90) of fields for which the service has no code of their own."""
    return Invalid(Code.VALIDATION_ERROR, details)


class NotFound(Refused):
    """An id names nothing in this sandbox (assumption ``error.not_found``)."""


class WrongState(Refused):
    """The object is in a state from which the state table has no such move (assumption
    ``error.wrong_state``)."""


class KeyInUse(Refused):
    """An idempotency key belongs to another request, or its first request is still being
    answered."""


class ProviderRefused(Refused):
    """A provider declined an operation on an existing object."""


class ForeignDocument(Refused):
    """A state document of another product or version."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`` - did you mean 'x'?`` for the closest known word, else an empty text: the tail of a
    refusal."""
    meant = nearest_of(word, known)
    return f" - did you mean '{meant}'?" if meant else ""


def nearest_of(word: str, known: Iterable[str]) -> str | None:
    """The closest known word in any letter case, or None when none is close. To compare takes time
    by the product of both lengths, and a client chooses one of them."""
    if len(word) > _LONGEST_WORD:
        return None
    by_fold = {name.lower(): name for name in known}
    closest = difflib.get_close_matches(word.lower(), by_fold, n=1, cutoff=0.6)
    return by_fold[closest[0]] if closest else None


MOST_FAULTS = 100
"""Faults that a refusal names, where there may be thousands: each is worded, masked and written in
one step."""

_MUTE = frozenset({Code.INVALID_CARD_NUMBER})
"""Codes whose error object carries no details (published facts, 4.1: asserted by a client
suite)."""


class FieldFault(NamedTuple):
    """What is wrong with one PascalCase field: its code, and in ``text`` what was got and what is
    allowed."""

    code: Code
    field: str
    text: str


class Faults(list[FieldFault]):
    """What is wrong with a request, as far as it was looked at.

    Checks add to it and go on, so that a caller can put all right at once; ``refuse`` ends them,
    before anything changes. A check that goes on behind a fault may need what the fault denies: it
    asks ``attempt``, which gives None then, and at the end ``sure``, which has raised before.
    """

    def add(self, code: Code, field: str, text: str) -> None:
        """Remember one fault."""
        self.append(FieldFault(code, field, text))

    def wrong(self, field: str, text: str) -> None:
        """Remember a fault for which the service has no code of its own (90)."""
        self.add(Code.VALIDATION_ERROR, field, text)

    def attempt(self, check: Callable[P, T], *args: P.args, **named: P.kwargs) -> T | None:
        """What a check gives; None, and its faults are remembered, when it raises ``Invalid``."""
        try:
            return check(*args, **named)
        except Invalid as refused:
            self.absorb(refused)
            return None

    def absorb(self, refused: Invalid) -> None:
        """Remember the faults of a check that has raised."""
        for field, text in (refused.details or {}).items():
            self.add(refused.code, field, text)

    def blames(self, field: str) -> bool:
        """Whether a fault of a field, or of something in it, is known: what follows from the field
        is then in doubt."""
        inside = field + "."
        return any(fault.field == field or fault.field.startswith(inside) for fault in self)

    @property
    def are_many(self) -> bool:
        """Whether a refusal names no more."""
        return len(self) >= MOST_FAULTS

    def refuse(self) -> None:
        """Raise ``Invalid`` when there is a fault: with the code that all of them share, else with
        90."""
        if not self:
            return
        # One refusal has one code, and its fields may have several.
        codes = {fault.code for fault in self}
        code = codes.pop() if len(codes) == 1 else Code.VALIDATION_ERROR
        if code in _MUTE:
            raise Invalid(code)
        raise Invalid(code, {fault.field: fault.text for fault in self})

    def sure(self, checked: T | None) -> T:
        """What all checks have let pass. Raises ``Invalid`` as ``refuse``, ``RuntimeError`` for
        nothing without a fault."""
        self.refuse()
        if checked is None:
            raise RuntimeError("a check gave nothing and found no fault")
        return checked


_ANCHOR = "https://docs.payfurl.com/errorcodes#"


class Problem(TypedDict):
    """An error as it is sent: integer code, boolean isRetryable, flat details (published facts,
    4.1)."""

    message: str
    code: int
    isRetryable: bool
    type: str
    resource: str | None
    details: dict[str, str] | None
    gatewayCode: str | None
    gatewayMessage: str | None
    httpStatus: int


def problem(
    status: int,
    code: int,
    message: str,
    resource: str | None,
    details: Mapping[str, str] | None = None,
    *,
    is_retryable: bool = False,
    gateway_code: str | None = None,
    gateway_message: str | None = None,
) -> Problem:
    """An error body. Whatever in the details could be a card number is masked."""
    return {
        "message": message,
        "code": code,
        "isRetryable": is_retryable,
        "type": f"{_ANCHOR}{code}",
        "resource": mask_text(resource) if resource else resource,
        "details": _masked(details),
        "gatewayCode": gateway_code,
        "gatewayMessage": gateway_message,
        "httpStatus": status,
    }
