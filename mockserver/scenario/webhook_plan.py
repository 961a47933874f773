"""What happens to the webhooks of an operation, as a file says it and as it runs: they are lost,
late, out of order, sent several times, forged, or say something else than the truth.

Source: docs/scenario-language.md, webhook.
"""

from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from mockserver.domain.clock import Micros, duration_text
from mockserver.domain.errors import nearest
from mockserver.scenario.file_model import file_model
from mockserver.scenario.scalars import Duration, Flag, Shift, Swap, Text, whole
from mockserver.scenario.transport import Edit, Omit
from mockserver.scenario.values import excerpt

MOST_BYTES = 1_000_000
"""Bytes that a webhook can be padded to."""

MOST_AT_ONCE = 10
"""Copies that can be under way to one receiver at once."""

NO_CHARGE, NO_ORDER = "e" * 32, "another-order"
"""What a ``foreign`` webhook is about where the sandbox has no other charge."""

_ENVELOPE = ("meta", "data")
_WRONG = ("bad_signature", "signature", "foreign", "edit", "omit")
"""What makes a webhook one that the service would not send."""

# Keys that cannot stand together: each pair says how, or when, one thing happens.
_APART = (
    ("before_answer", "delay"),
    ("before_answer", "swap_with_next"),
    ("extra", "swap_with_next"),
    ("bad_signature", "signature"),
    ("form", "respelt"),
)


def _read_answer(value: object) -> object:
    """How a receiver answers: with a status, or not in time."""
    if value == "timeout":
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599:
        return value
    raise ValueError(f"got {excerpt(value)}, wanted an HTTP status from 100 to 599 or timeout")


Answer = Annotated[
    int | str,
    BeforeValidator(_read_answer, Annotated[int, Field(ge=100, le=599)] | Literal["timeout"]),
]


Signature = StrEnum("Signature", "NONE BAD STALE PREVIOUS")
"""What stands in the header of the signature: nothing, that of a wrong key, that of a day before,
or that of the key before, as while keys are changed."""


@file_model
class WebhookPlan:
    """What happens to the webhooks of the operation."""

    says_something = True

    drop: Flag = False
    delay: Duration = 0
    copies: Annotated[int, whole(1, 100)] = 1
    gap: Duration = 0
    before_answer: Flag = False
    swap_with_next: Swap = False
    extra: Flag = False
    stale: Flag = False
    bad_signature: Flag = False
    signature: Signature | None = None
    form: Flag = False
    respelt: Flag = False
    pad: Annotated[int, whole(1, MOST_BYTES)] = 0
    sent: Shift = 0
    together: Flag = False
    blocks: Flag = False
    foreign: Flag = False
    edit: Edit | None = None
    omit: Omit = ()
    authorization: Text | None = None
    hold: Flag = False
    receiver: Annotated[tuple[Answer, ...], Field(max_length=100)] = ()

    @classmethod
    def prepare(cls, data: Mapping[str, object]) -> Mapping[str, object]:
        """Refuses a plan that says more than that nothing is sent."""
        if data.get("drop") is True and data.keys() != {"drop"}:
            raise ValueError("drop sends nothing: it cannot be combined with anything else")
        return data

    def __post_init__(self) -> None:
        if self.together and self.copies > MOST_AT_ONCE:
            raise ValueError(
                f"got together and {self.copies} copies, at most {MOST_AT_ONCE} go out at one "
                "instant"
            )
        for word, other in _APART:
            if getattr(self, word) and getattr(self, other):
                raise ValueError(f"got {word} and {other}, only one of them is allowed")
        is_wrong = any(getattr(self, word) for word in _WRONG)
        if self.extra and not is_wrong:
            # With nothing wrong it would tell the truth twice, which is what ``copies`` is for.
            raise ValueError(f"extra needs what is wrong with the one more: {', '.join(_WRONG)}")
        self._check_together()
        if self.hold and self.receiver:
            raise ValueError(
                "got hold and receiver, only one of them is allowed: the receiver itself must "
                "take it"
            )
        for path in (*(self.edit or ()), *self.omit):
            first = path.partition(".")[0]
            if first not in _ENVELOPE:
                hint = nearest(first, _ENVELOPE) or f" - did you mean 'data.{path[:60]}'?"
                raise ValueError(f"got '{path[:60]}', and a webhook has meta and data{hint}")

    def _check_together(self) -> None:
        """Refuse what cannot be said of webhooks that leave at one instant: nothing can come
        between them, and none can wait for another."""
        if not self.together:
            return
        against = ["blocks", "gap", "swap_with_next", "receiver"]
        if self.copies == 1:
            # It leaves with the next one of the receiver, which may come long after the answer.
            against.append("before_answer")
        for word in against:
            if getattr(self, word):
                raise ValueError(f"got together and {word}, only one of them is allowed")

    @property
    def forged(self) -> Signature | None:
        """What stands in the header of the signature; None for the right one."""
        if self.bad_signature:
            # An older key for the same.
            return Signature.BAD
        return self.signature

    @property
    def held_for(self) -> Micros:
        """How long it waits for the next one about the same object; 0 when any to the same receiver
        will do."""
        if isinstance(self.swap_with_next, bool):
            return 0
        return self.swap_with_next

    @property
    def is_edited(self) -> bool:
        """Whether its body says something else than what is true."""
        return bool(self.foreign or self.edit or self.omit)

    @property
    def waits_for_next(self) -> bool:
        """Whether it goes out at the instant of the next one to the same receiver. ``together``
        with copies means these instead, which need wait for nothing."""
        return self.together and self.copies == 1

    @property
    def words(self) -> str:
        """What is not as usual, key by key."""
        words = []
        for key in fields(self):
            value = getattr(self, key.name)
            if value != key.default:
                words.append(self._key_words(key.name, value))
        return "webhook: " + (", ".join(words) or "as usual")

    def _key_words(self, key: str, value: object) -> str:
        """What explanations say of a key that is set."""
        match key:
            case "drop":
                return "drop those of this call"
            case "blocks":
                return "later ones to the receiver wait for it"
            case "delay" | "gap":
                return f"{key} {duration_text(getattr(self, key))}"
            case "swap_with_next" if value is not True:
                return f"swap_with_next within {duration_text(self.held_for)}"
            case "extra":
                return "one more, before the real one"
            case "sent":
                direction = "ago" if self.sent < 0 else "ahead"
                return f"sent {duration_text(abs(self.sent))} {direction}"
            case "respelt":
                return "the same data spelt otherwise"
            case "foreign":
                return "about another charge, with the amount of this one"
            case "edit" | "omit":
                return f"{key} {' and '.join(getattr(self, key))}"
            case "authorization":
                return "another authorization"
            case "receiver":
                return f"receiver answers {', '.join(map(str, self.receiver))}"
            case _:
                return key if value is True else f"{key} {value}"
