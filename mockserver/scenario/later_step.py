"""What happens to an object later, without a call, as a file says it and as it runs: a dispute,
an agreement that its payer declines, a card that expires. The shop hears of it by a webhook, or
never, and a scenario tests that it copes.

Source: docs/scenario-language.md, later.
"""

import re
from collections.abc import Mapping
from dataclasses import field, fields
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo

from mockserver.domain.clock import SECOND, duration_text
from mockserver.domain.errors import nearest
from mockserver.domain.masking import mask_text
from mockserver.domain.states import NetworkTokenState, PayToState, SubscriptionState
from mockserver.scenario.file_model import Empty, ReadingContext, file_model, keys_of, only_one
from mockserver.scenario.provider_outcome import Challenge, PayerAnswer, Settlement
from mockserver.scenario.scalars import Duration, Positive, read_text
from mockserver.scenario.values import excerpt, json_text

STATES: Mapping[str, type[StrEnum]] = {
    "payto": PayToState,
    "network_token": NetworkTokenState,
    "subscription": SubscriptionState,
}
"""Kinds of objects whose status ``set`` may change."""

_STATES = {f"{kind}.status": tuple(states) for kind, states in STATES.items()}
_EXPIRY = "card.expiryDate"
_EXPIRY_DATE = r"(?:0[1-9]|1[0-2])/[0-9]{2}"


@file_model
class SetMap:
    """What ``set`` may change, as a file writes it; a charge moves by capture, void, refund and
    settle instead."""

    payto: Annotated[PayToState | None, Field(alias="payto.status")] = None
    network_token: Annotated[NetworkTokenState | None, Field(alias="network_token.status")] = None
    subscription: Annotated[SubscriptionState | None, Field(alias="subscription.status")] = None
    expiry: Annotated[str | None, Field(alias=_EXPIRY, pattern=f"^{_EXPIRY_DATE}$")] = None


SETTABLE = tuple(keys_of(SetMap))
"""Fields that ``later: set`` may change."""

_LONGEST_COMMENT = 10_000
"""Characters: as many as a request may give."""

_EVENT = r"[A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)+"
_LONGEST_EVENT = 100

_PAYER = {
    PayerAnswer.PASSES: "SUCCESS",
    PayerAnswer.FAILS: "FAILED",
    PayerAnswer.ABANDONS: "ABANDONED",
}
"""How a payer ends a challenge."""

_PAYER_TAKES = 30 * SECOND
"""The time that a payer takes whose time the file does not say."""


Move = StrEnum("Move", "SET CAPTURE VOID REFUND SETTLE EMIT DELETE EXPIRE")
"""What can happen to an object on its own, besides a change of its fields."""


def _comment(value: object, info: ValidationInfo[ReadingContext]) -> str:
    """The comment of a refund. It is stored and answered like one of a request, so it has the same
    limit: no answer has a comment that a request could not have given."""
    text = read_text(value)
    if len(text) > _LONGEST_COMMENT and not info.context.was_taken:
        raise ValueError(
            f"got a text of {len(text):,} characters, wanted at most {_LONGEST_COMMENT:,}"
        )
    return text


@file_model
class LaterAmount:
    """How much is captured or refunded; absent: all."""

    bare = "amount"
    others = "{} or "

    amount: Positive | None = None
    comment: Annotated[str, BeforeValidator(_comment, str | int)] | None = None


def read_event(value: object) -> str:
    """The name of an event: words joined by dots."""
    if isinstance(value, str) and len(value) <= _LONGEST_EVENT and re.fullmatch(_EVENT, value):
        return value
    raise ValueError(
        f"got {excerpt(value)}, wanted words joined by dots, such as charge.dispute.created"
    )


@file_model
class Emit:
    """A webhook of your own, to every receiver of the charge's webhooks."""

    event: Annotated[str, BeforeValidator(read_event)]
    data: dict[str, object] = field(default_factory=dict)


def _check_set(changes: Mapping[str, object]) -> None:
    """Refuse a path that ``set`` may not change, and a value that it cannot have. The map is kept
    as it is written: it is a list of changes, and ``SetMap`` has their keys for editors alone."""
    if not changes:
        raise ValueError(f"set: wanted at least one of {', '.join(SETTABLE)}")
    for path, value in changes.items():
        if path not in SETTABLE:
            raise ValueError(
                f"set: got '{path[:60]}', allowed: {', '.join(SETTABLE)}{nearest(path, SETTABLE)}"
            )
        if path == _EXPIRY:
            if not isinstance(value, str) or not re.fullmatch(_EXPIRY_DATE, value):
                raise ValueError(f"set: {path}: got {excerpt(value)}, wanted MM/YY, such as 12/40")
            continue
        states = _STATES[path]
        if value not in states:
            raise ValueError(
                f"set: {path}: got '{str(value)[:60]}', allowed: {', '.join(states)}"
                f"{nearest(str(value), states)}"
            )


def _ending(value: object) -> str:
    """How a payment ends that is settled."""
    word = read_text(value)
    if word not in tuple(Settlement):
        raise ValueError(
            f"got '{word[:60]}', allowed: {', '.join(Settlement)}{nearest(word, Settlement)}"
        )
    return word


def _as_written(value: object) -> object:
    """``SetMap`` says for editors what may stand there; ``_check_set`` refuses the rest."""
    return value


@file_model
class Later:
    """Something that happens later without a call: exactly one of set, capture, void, refund,
    settle, emit, delete, expire."""

    after: Duration
    set: Annotated[dict[str, Any], BeforeValidator(_as_written, SetMap)] | None = None
    capture: LaterAmount | None = None
    void: Empty | None = None
    refund: LaterAmount | None = None
    settle: Annotated[str, BeforeValidator(_ending, Settlement)] | None = None
    emit: Emit | None = None
    delete: Empty | None = None
    expire: Empty | None = None
    move: Move = field(init=False)

    def __post_init__(self) -> None:
        named = [move for move in Move if getattr(self, move.value) is not None]
        # A model is frozen: what follows from its keys is worked out once, here.
        object.__setattr__(self, "move", Move(only_one(named, Move)))
        if self.set is not None:
            _check_set(self.set)

    @property
    def words(self) -> str:
        """What happens, for explanations: masked, as a comment or the data of a webhook may hold a
        card number."""
        words: list[str] = []
        for name, value in self._details().items():
            if value is None or value == {}:
                continue
            text = value if isinstance(value, str) else json_text(value)
            words.append(f"{name} {mask_text(text)}")
        return f"{duration_text(self.after)} later: {self.move} {', '.join(words)}".rstrip()

    def _details(self) -> Mapping[str, object]:
        """What is said of the move, by name."""
        if self.set is not None:
            return self.set
        part = self.capture or self.refund or self.emit
        if part is not None:
            return {key.name: getattr(part, key.name) for key in fields(part)}
        return {"to": self.settle}


def act_of_payer(challenge: Challenge) -> tuple[Later, ...]:
    """What the payer of a challenge does on its own, when the file says so: without it the test
    acts for the payer, or the challenge waits."""
    if challenge.payer is None:
        return ()
    after = challenge.after
    if after is None and challenge.payer is PayerAnswer.ABANDONS:
        # A payer who leaves the page lets the challenge expire.
        return ()
    if after is None:
        after = _PAYER_TAKES
    return (Later(after, settle=_PAYER[challenge.payer]),)
