"""What happens to an object on its own, some time after the operation, as a file says it and as it runs.

Source: scenario language, Outcomes, clock (``later``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema

from mockserver.domain.clock import duration_text
from mockserver.domain.errors import nearest
from mockserver.domain.method_states import NetworkTokenState, PayToState
from mockserver.domain.states import SubscriptionState
from mockserver.scenario.part import Empty, part
from mockserver.scenario.provider_outcome import Challenge, Payer, Settlement
from mockserver.scenario.scalars import Duration, Number, Text

SETTABLE: Mapping[str, tuple[str, ...]] = {
    "payto.status": tuple(PayToState),
    "network_token.status": tuple(NetworkTokenState),
    "subscription.status": tuple(SubscriptionState),
}
"""Fields that ``later: set`` may change, and their values; a charge moves by capture, void, refund and settle
instead."""

_PAYER = {Payer.PASSES: "SUCCESS", Payer.FAILS: "FAILED", Payer.ABANDONS: "ABANDONED"}


class Move(StrEnum):
    """What can happen to an object on its own, besides a change of its fields."""

    SET = "set"
    CAPTURE = "capture"
    VOID = "void"
    REFUND = "refund"
    SETTLE = "settle"
    DELETE = "delete"


@part
class LaterAmount:
    """How much is captured or refunded; absent: all."""

    amount: Number | None = None
    comment: Text | None = None

    def __post_init__(self) -> None:
        if self.amount == Decimal(0):
            raise ValueError("amount: got 0, wanted an amount above 0")


def _check_set(changes: Mapping[str, object]) -> None:
    if not changes:
        raise ValueError(f"set: wanted at least one of {', '.join(SETTABLE)}")
    for path, value in changes.items():
        if path not in SETTABLE:
            raise ValueError(f"set: got '{path[:60]}', allowed: {', '.join(SETTABLE)}{nearest(path, SETTABLE)}")
        if value not in SETTABLE[path]:
            hint = nearest(str(value), SETTABLE[path])
            raise ValueError(f"set: {path}: got '{str(value)[:60]}', allowed: {', '.join(SETTABLE[path])}{hint}")


def _ending(word: str) -> str:
    if word not in tuple(Settlement):
        raise ValueError(f"got '{word[:60]}', allowed: {', '.join(Settlement)}{nearest(word, Settlement)}")
    return word


@part
class Later:
    """Something that happens on its own afterwards: exactly one of set, capture, void, refund, settle, delete.

    ``changes`` are the fields of ``set`` by dotted path (``payto.status``), or the details of any other ``move``:
    ``amount`` and ``comment`` of capture and refund, ``to`` (SUCCESS or FAILED; ABANDONED of a challenge) of settle.
    """

    after: Duration
    set: Annotated[dict[str, Any] | None, Field(description="fields by path, such as payto.status: ACTIVE")] = None
    capture: LaterAmount | None = None
    void: Empty | None = None
    refund: LaterAmount | None = None
    settle: Annotated[
        Annotated[Text, AfterValidator(_ending), WithJsonSchema({"enum": list(Settlement), "type": "string"})] | None,
        Field(description="end a pending charge"),
    ] = None
    delete: Empty | None = None
    move: Move = field(init=False)
    changes: Mapping[str, object] = field(init=False)

    def __post_init__(self) -> None:
        moves = [move for move in Move if getattr(self, move.value) is not None]
        if len(moves) != 1:
            raise ValueError(f"got {' and '.join(moves) or 'none'}, wanted exactly one of {', '.join(Move)}")
        if self.set is not None:
            _check_set(self.set)
        part = self.capture or self.refund
        changes: Mapping[str, object] = self.set or {}
        if self.settle is not None:
            changes = {"to": self.settle}
        elif part is not None:
            changes = {"amount": part.amount, "comment": part.comment}
        object.__setattr__(self, "move", moves[0])
        object.__setattr__(self, "changes", MappingProxyType(changes))

    @property
    def words(self) -> str:
        """What explanations say."""
        details = ", ".join(f"{name} {value}" for name, value in self.changes.items() if value is not None)
        return f"{duration_text(self.after)} later: {self.move}" + (f" {details}" if details else "")


def act_of_payer(challenge: Challenge) -> tuple[Later, ...]:
    """What the payer of a challenge does on its own, when the file says so."""
    if challenge.payer is None:
        return ()
    return (Later(challenge.payer_takes, settle=_PAYER[challenge.payer]),)
